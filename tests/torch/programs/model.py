"""One forward pass of a real architecture with random weights, made from a small configuration: model.py NAME [ATTENTION]. No downloads."""
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch  # noqa: E402
import transformers as t  # noqa: E402

torch.manual_seed(0)


def ids(batch, length, vocabulary=1000):
    return torch.randint(5, vocabulary, (batch, length))


def padded(batch, length, last):
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[-1, last:] = 0
    return mask


def bert():
    config = t.BertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512)
    return t.BertModel(config), {"input_ids": ids(2, 96), "attention_mask": padded(2, 96, 70)}


def gpt2():
    config = t.GPT2Config(vocab_size=1000, n_embd=256, n_layer=2, n_head=4, n_positions=256)
    return t.GPT2LMHeadModel(config), {"input_ids": ids(1, 128)}


def llama():
    config = t.LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2,
                           max_position_embeddings=1024)
    return t.LlamaForCausalLM(config), {"input_ids": ids(1, 256)}


def t5():
    config = t.T5Config(vocab_size=1000, d_model=128, d_kv=32, num_heads=4, d_ff=256, num_layers=2)
    return t.T5ForConditionalGeneration(config), {"input_ids": ids(2, 48), "attention_mask": padded(2, 48, 40), "decoder_input_ids": ids(2, 16)}


def whisper():
    config = t.WhisperConfig(vocab_size=1000, d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                             encoder_ffn_dim=256, decoder_ffn_dim=256, max_source_positions=200, max_target_positions=64, num_mel_bins=80,
                             pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None)
    return t.WhisperModel(config), {"input_features": torch.randn(1, 80, 400), "decoder_input_ids": ids(1, 16)}


def vit():
    config = t.ViTConfig(hidden_size=192, num_hidden_layers=2, num_attention_heads=3, intermediate_size=384, image_size=112, patch_size=16)
    return t.ViTModel(config), {"pixel_values": torch.randn(2, 3, 112, 112)}


MODELS = {"bert": bert, "gpt2": gpt2, "llama": llama, "t5": t5, "whisper": whisper, "vit": vit}

if __name__ == "__main__":
    model, inputs = MODELS[sys.argv[1]]()
    if len(sys.argv) > 2:
        model.set_attn_implementation(sys.argv[2])
    model.eval()
    with torch.no_grad():
        model(**inputs)
