import CLibrdkafka

extension NativeAdmin {
    func describe(group: String, timeoutMilliseconds: Int) throws -> ConsumerGroup {
        try group.withCString { name in
            var names: [UnsafePointer<CChar>?] = [name]
            return try request(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeoutMilliseconds) { options, queue in
                rd_kafka_DescribeConsumerGroups(client.pointer, &names, names.count, options, queue)
            } read: { event in
                var count = 0
                let result = rd_kafka_event_DescribeConsumerGroups_result(event)
                guard let groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count), count > 0,
                    let found = groups[0]
                else { throw KafkaError(.timedOut, "the broker says nothing of the group") }
                if let error = rd_kafka_ConsumerGroupDescription_error(found),
                    rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR
                {
                    throw Self.error(error)
                }
                return Self.read(found)
            }
        }
    }

    private static func read(_ group: OpaquePointer) -> ConsumerGroup {
        let members = (0..<rd_kafka_ConsumerGroupDescription_member_count(group)).compactMap { index in
            rd_kafka_ConsumerGroupDescription_member(group, index).map(member)
        }
        let state = rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(group))
        return ConsumerGroup(state: text(state) ?? "Unknown", members: members)
    }

    private static func member(_ member: OpaquePointer) -> ConsumerGroup.Member {
        let assignment = rd_kafka_MemberDescription_assignment(member)
        let partitions = assignment.map { NativePartitionList.partitions(of: rd_kafka_MemberAssignment_partitions($0)) }
        return ConsumerGroup.Member(
            clientID: text(rd_kafka_MemberDescription_client_id(member)) ?? "",
            instanceID: text(rd_kafka_MemberDescription_group_instance_id(member)),
            host: text(rd_kafka_MemberDescription_host(member)) ?? "", partitions: (partitions ?? []).sorted())
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
}
