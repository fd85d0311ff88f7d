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

#include "mldf/base.h"

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 34;

std::string Sha256(const std::string &data) {
    uint8_t digest[32];
    char text[65];
    mldf_sha256(data.data(), data.size(), digest);
    for (int i = 0; i < 32; i++)
        std::snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

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
        Sha256(bytes) + "\",\"vocabulary\":" + std::to_string(model.GetPieceSize()) + ",\"bos\":" +
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
