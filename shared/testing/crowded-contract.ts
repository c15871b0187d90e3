import { bareSignature, parseEventSignature, topicOfSignature } from '../chain/identifiers/event-signature.ts';
import { watchesModel } from '../read-models/event-catcher/watches.ts';
import type { MemoryReadStore } from './engines/read-store.memory.ts';
import { storedEvent } from './event-builder.ts';
import { projectInto } from './project.ts';

/** As many as a hundred wallets may register for one contract. */
const STRANGERS = 10_000;
const TRANSFER = 'Transfer(address indexed,address indexed,uint256)';

export const crowdedContract = { chainId: 2484, contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3' };
export const crowdedCaller = { appId: 'app_1', userId: 'usr_1' };
/** Sort after the ids of all other watches, each of which differs in the names of its arguments. */
export const crowdedWatches = { oldest: 'wch_z1', other: 'wch_z2', own: 'wch_z3', newest: 'wch_z4' };

/** Projects the watches of a contract for which strangers have registered thousands of fragments of one event. */
export const crowdContract = async (readStore: MemoryReadStore): Promise<void> => {
  const { oldest, other, own, newest } = crowdedWatches;
  const registered = (watchId: string, position: number, changes: { appId?: string; eventSignature?: string } = {}) => {
    const { eventSignature = TRANSFER } = changes;
    const topic0 = topicOfSignature(bareSignature(parseEventSignature(eventSignature)));
    const data = { ...crowdedContract, watchId, userId: 'usr_1', appId: 'app_2', topic0, ...changes };
    return storedEvent('ContractRegistered', data, { position });
  };
  const strangers = Array.from({ length: STRANGERS }, (_, index) => registered(`wch_a${String(index)}`, 10 + index));
  await projectInto(
    readStore,
    [watchesModel],
    [
      registered(oldest, 1),
      ...strangers,
      registered(other, 20_000, { eventSignature: 'Transfer(address,uint256)' }),
      registered(own, 20_001, { appId: 'app_1' }),
      registered(newest, 20_002),
    ],
  );
};
