#pragma once

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>

#include <map>
#include <memory>
#include <string>

namespace ingest {

/// The texts of `.proto` files by their names.
class Texts : public google::protobuf::compiler::SourceTree {
public:
    std::map<std::string, std::string> files;

    google::protobuf::io::ZeroCopyInputStream *Open(const std::string &name) override;
    std::string GetLastErrorMessage() override { return "it is not among the schema's references"; }
};

/// Keeps the first fault that a compilation finds.
class FirstFault : public google::protobuf::compiler::MultiFileErrorCollector {
public:
    std::string text;

    void AddError(const std::string &file, int line, int column, const std::string &message) override;
};

}  // namespace ingest

struct protobuf_schema {
    ingest::Texts texts;
    ingest::FirstFault fault;
    /// The types that Protobuf brings along, such as google/protobuf/timestamp.proto.
    google::protobuf::DescriptorPoolDatabase known{*google::protobuf::DescriptorPool::generated_pool()};
    google::protobuf::compiler::SourceTreeDescriptorDatabase database{&texts, &known};
    google::protobuf::DescriptorPool pool{&database, database.GetValidationErrorCollector()};
    const google::protobuf::FileDescriptor *file = nullptr;
    std::unique_ptr<google::protobuf::DynamicMessageFactory> factory;
};
