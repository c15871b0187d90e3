import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import type { ClusterInfo, MemberInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';

const STREAMS = 'event_store.client.streams.streams';

/** The client's first query: without `batchappend` in the list it uses another append call. */
export const supportedMethods = (): SupportedMethods =>
  new features.SupportedMethods()
    .setEventStoreServerVersion('24.6.0')
    .setMethodsList(
      ['read', 'batchappend', 'delete', 'tombstone'].map((name) =>
        new features.SupportedMethod().setServiceName(STREAMS).setMethodName(name),
      ),
    );

interface Node {
  host: string;
  port: number;
}

/** The cluster as this node sees it: itself, and on a follower the leader. */
export const clusterInfo = (self: Node, leader: Node | undefined): ClusterInfo =>
  new gossip.ClusterInfo().setMembersList(
    leader ? [member(self, VNodeState.FOLLOWER), member(leader, VNodeState.LEADER)] : [member(self, VNodeState.LEADER)],
  );

const { VNodeState } = gossip.MemberInfo;

const member = ({ host, port }: Node, state: MemberInfo.VNodeState): MemberInfo =>
  new gossip.MemberInfo()
    .setInstanceId(new shared.UUID().setString(crypto.randomUUID()))
    .setTimeStamp(`${String(Date.now())}0000`)
    .setState(state)
    .setIsAlive(true)
    .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port));
