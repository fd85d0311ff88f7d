// mldf-sentencepiece MODEL: a SentencePiece model as a tokenizer program of mldf (docs/tokenizers.md has the protocol). The tokenizer
// "sentencepiece:MODEL" starts it. Documents that contain the strings of control symbols (</s>) keep them as text, as SentencePiece does;
// symbols that the model's maker defined as user symbols are pieces like others.
#include <sentencepiece_processor.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 34;

// SHA-256, FIPS 180-4.
class Sha256 {
public:
    static std::string Hex(const std::string &data) {
        Sha256 sum;
        std::string padded = data;
        padded.push_back('\x80');
        while (padded.size() % 64 != 56)
            padded.push_back('\0');
        for (int i = 7; i >= 0; i--)
            padded.push_back(static_cast<char>(uint64_t{data.size()} * 8 >> (8 * i)));
        for (size_t at = 0; at < padded.size(); at += 64)
            sum.Block(reinterpret_cast<const uint8_t *>(padded.data()) + at);
        char text[65];
        for (int i = 0; i < 8; i++)
            std::snprintf(text + 8 * i, 9, "%08x", sum.h_[i]);
        return text;
    }

private:
    static uint32_t Turn(uint32_t x, int n) {
        return x >> n | x << (32 - n);
    }
    void Block(const uint8_t *p) {
        static const uint32_t k[64] = {
            0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
            0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
            0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
            0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
            0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
            0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
            0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
            0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
        uint32_t w[64], v[8];
        for (int i = 0; i < 16; i++)
            w[i] = uint32_t{p[4 * i]} << 24 | uint32_t{p[4 * i + 1]} << 16 | uint32_t{p[4 * i + 2]} << 8 | p[4 * i + 3];
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + w[i - 7] + (Turn(w[i - 15], 7) ^ Turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
                   (Turn(w[i - 2], 17) ^ Turn(w[i - 2], 19) ^ w[i - 2] >> 10);
        std::memcpy(v, h_, sizeof v);
        for (int i = 0; i < 64; i++) {
            uint32_t a = v[7] + (Turn(v[4], 6) ^ Turn(v[4], 11) ^ Turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
                         k[i] + w[i];
            uint32_t b = (Turn(v[0], 2) ^ Turn(v[0], 13) ^ Turn(v[0], 22)) +
                         ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            std::memmove(v + 1, v, 7 * sizeof *v);
            v[4] += a;
            v[0] = a + b;
        }
        for (int i = 0; i < 8; i++)
            h_[i] += v[i];
    }
    uint32_t h_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

std::string Quoted(const std::string &text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", c);
        if (c == '"' || c == '\\' || c < 0x20)
            out += escape;
        else
            out.push_back(static_cast<char>(c));
    }
    return out + "\"";
}

std::string Id(int id) {
    return id < 0 ? "null" : std::to_string(id);
}

bool Read(void *to, size_t bytes) {
    return std::fread(to, 1, bytes, stdin) == bytes;
}

void Write(const void *from, size_t bytes) {
    std::fwrite(from, 1, bytes, stdout);
}

void WriteHead(uint32_t n, uint32_t kind, uint64_t total) {
    Write(&n, 4);
    Write(&kind, 4);
    Write(&total, 8);
}

void Refuse(uint32_t index, const std::string &why) {
    WriteHead(index, 1, why.size());
    Write(why.data(), why.size());
}

void Encode(const sentencepiece::SentencePieceProcessor &model, const std::vector<uint32_t> &lengths,
            const std::vector<char> &text) {
    std::vector<uint32_t> counts;
    std::vector<uint32_t> ids;
    size_t at = 0;
    for (size_t i = 0; i < lengths.size(); i++) {
        std::vector<int> one;
        const auto status = model.Encode(std::string(text.data() + at, lengths[i]), &one);
        if (!status.ok())
            return Refuse(static_cast<uint32_t>(i), status.ToString());
        at += lengths[i];
        counts.push_back(static_cast<uint32_t>(one.size()));
        ids.insert(ids.end(), one.begin(), one.end());
    }
    WriteHead(static_cast<uint32_t>(counts.size()), 0, ids.size());
    Write(counts.data(), 4 * counts.size());
    Write(ids.data(), 4 * ids.size());
}

void Decode(const sentencepiece::SentencePieceProcessor &model, const std::vector<uint32_t> &counts,
            const std::vector<char> &bytes) {
    std::vector<uint32_t> lengths;
    std::string text;
    size_t at = 0;
    for (size_t i = 0; i < counts.size(); i++) {
        std::vector<int> ids(counts[i]);
        if (counts[i])
            std::memcpy(ids.data(), bytes.data() + at, 4 * ids.size());
        at += 4 * ids.size();
        std::string one;
        const auto status = model.Decode(ids, &one);
        if (!status.ok())
            return Refuse(static_cast<uint32_t>(i), status.ToString());
        lengths.push_back(static_cast<uint32_t>(one.size()));
        text += one;
    }
    WriteHead(static_cast<uint32_t>(lengths.size()), 2, text.size());
    Write(lengths.data(), 4 * lengths.size());
    Write(text.data(), text.size());
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: mldf-sentencepiece MODEL\n");
        return 2;
    }
    std::ifstream file(argv[1], std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    sentencepiece::SentencePieceProcessor model;
    const auto status = model.LoadFromSerializedProto(bytes);
    if (!file || !status.ok() || model.GetPieceSize() < 1) {
        std::fprintf(stderr, "%s: %s\n", argv[1], !file ? "cannot be read" : status.ToString().c_str());
        return 1;
    }
    const std::string path = argv[1];
    const std::string hello =
        "{\"mldf_tokenizer\":1,\"name\":" + Quoted(path.substr(path.rfind('/') + 1)) + ",\"sha256\":\"" +
        Sha256::Hex(bytes) + "\",\"vocabulary\":" + std::to_string(model.GetPieceSize()) + ",\"bos\":" +
        Id(model.bos_id()) + ",\"eos\":" + Id(model.eos_id()) + ",\"pad\":" + Id(model.pad_id()) +
        ",\"specials\":\"text\",\"decode\":true}\n";
    Write(hello.data(), hello.size());
    std::fflush(stdout);
    for (;;) {
        uint32_t head[2];
        uint64_t total;
        if (!Read(head, 8)) // the end of the input
            return 0;
        if (!Read(&total, 8) || (head[1] != 0 && head[1] != 2) || total > kMostBytes)
            return 3;
        std::vector<uint32_t> sizes(head[0]);
        std::vector<char> data(head[1] == 0 ? total : 4 * total);
        if (!Read(sizes.data(), 4 * sizes.size()) || !Read(data.data(), data.size()))
            return 3;
        uint64_t sum = 0;
        for (uint32_t size : sizes)
            sum += size;
        if (sum != total)
            return 3;
        if (head[1] == 0)
            Encode(model, sizes, data);
        else
            Decode(model, sizes, data);
        if (std::fflush(stdout) != 0)
            return 3;
    }
}
