import { NODES_KIND, type NodeAnnouncement } from '../../../../schemas/announcements.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { EVENT_URL } from './catcher-fixtures.ts';

export const NODE = `0x${'1'.repeat(40)}`;
const aNode: NodeAnnouncement = {
  address: NODE,
  domain: EVENT_URL,
  rpcDomain: 'https://stream.test',
  connections: 3,
  isReady: true,
  partitions: [3, 4],
  partitioning: null,
};

/** Returns what announces a process of the stream, as it does itself each second. */
export const announcingNodes = ({ readStore }: { readStore: Pick<ReadStore, 'announce'> }) => {
  let renewals = 0;
  return async (id: string, changes: Partial<NodeAnnouncement> = {}): Promise<void> => {
    renewals += 1;
    await readStore.announce(NODES_KIND, { id, renewals, document: { ...aNode, ...changes } });
  };
};
