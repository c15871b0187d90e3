import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';

const STREAMS = 'event_store.client.streams.streams';

/** What the client asks first: without `batchappend` in the list it appends in another way. */
export const supportedMethods = (): SupportedMethods =>
  new features.SupportedMethods()
    .setEventStoreServerVersion('24.6.0')
    .setMethodsList(
      ['read', 'append', 'batchappend', 'delete', 'tombstone'].map((name) =>
        new features.SupportedMethod().setServiceName(STREAMS).setMethodName(name),
      ),
    );

/** A cluster of one. */
export const clusterInfo = ({ host, port }: { host: string; port: number }): ClusterInfo =>
  new gossip.ClusterInfo().setMembersList([
    new gossip.MemberInfo()
      .setInstanceId(new shared.UUID().setString(crypto.randomUUID()))
      .setTimeStamp(`${String(Date.now())}0000`)
      .setState(gossip.MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port)),
  ]);
