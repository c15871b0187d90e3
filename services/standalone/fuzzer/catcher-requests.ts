import type { RegisteredContract } from '../../../schemas/http/event-catcher-routes.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { CHAIN_ID, HEAD, registration, TOKEN, transferRecord } from '../../event-catcher/testing/catcher-fixtures.ts';
import type { CatcherUnderFuzzing } from './catcher-under-fuzzing.ts';
import type { ValidsByRoute } from './fuzzer.ts';

const RECORDS = 30;

/** Requests that succeed on the routes of the event catcher, which has records of one contract. */
export const catcherRequests = async (catcher: CatcherUnderFuzzing): Promise<ValidsByRoute> => {
  const { register, foundation, tokens, caughtUp } = catcher;
  const { id } = (await (await register()).json()) as RegisteredContract;
  const records = Array.from({ length: RECORDS }, (_, at) => transferRecord({ BlockNumber: 10 + at }));
  const observed = records.map((data) => anEvent({ type: 'ChainEventObserved', data }));
  await foundation.eventStore.append(`chain-${String(CHAIN_ID)}-${TOKEN.toLowerCase()}`, -1, observed);
  const progress = { ...eventExamples.ChainAdvanced, head: HEAD, finalized: 15 };
  await foundation.eventStore.append(`chain-${String(CHAIN_ID)}`, -1, [
    anEvent({ type: 'ChainAdvanced', data: progress }),
  ]);
  await caughtUp();

  const authorization = `Bearer ${await tokens.accessToken()}`;
  const caller = () => ({ authorization });
  const contract = { chainId: String(CHAIN_ID), contractAddress: TOKEN };
  let contracts = 0;
  const another = () => {
    contracts += 1;
    return registration({ contractAddress: `0x${contracts.toString(16).padStart(40, '0')}` });
  };
  const registered = async (): Promise<Record<string, string>> => {
    const answer = await register(another());
    return { id: ((await answer.json()) as RegisteredContract).id };
  };
  const paused = await registered();
  return {
    registerContract: { next: () => Promise.resolve({ caller, body: another() }) },
    listContracts: { next: () => Promise.resolve({ caller, query: contract }) },
    getContract: { next: () => Promise.resolve({ caller, params: { id } }) },
    removeContract: { next: async () => ({ caller, params: await registered() }), once: true },
    pauseContract: { next: () => Promise.resolve({ caller, params: paused }) },
    resumeContract: { next: () => Promise.resolve({ caller, params: paused }) },
    queryEvents: {
      next: () => Promise.resolve({ caller, query: { ...contract, eventSignature: 'Transfer', take: '3' } }),
    },
    readStatus: { next: () => Promise.resolve({ params: { ...contract, eventName: 'Transfer' } }) },
  };
};
