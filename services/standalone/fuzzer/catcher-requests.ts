import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { NODES_KIND } from '../../../schemas/announcements.ts';
import { appStream } from '../../../schemas/events/account/app-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { streamAccessText } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import { messageDigest } from '../../../shared/keys/signatures/message-digest.ts';
import { addressOfKey, newPrivateKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import { signDigest } from '../../../shared/keys/signatures/sign-digest.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import {
  CHAIN_ID,
  EVENT_URL,
  HEAD,
  registration,
  TOKEN,
  transferRecord,
} from '../../event-catcher/testing/routes/catcher-fixtures.ts';
import type { CatcherUnderFuzzing } from './catcher-under-fuzzing.ts';
import type { ValidsByRoute } from './fuzzer.ts';

const RECORDS = 30;

/** Requests that succeed on the routes of the event catcher, which has records of one contract. */
export const catcherRequests = async (catcher: CatcherUnderFuzzing): Promise<ValidsByRoute> => {
  const { register, foundation, tokens, clock, caughtUp } = catcher;
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
  const key = newPrivateKey();
  await foundation.eventStore.append(appStream('app_fuzzed'), -1, [
    anEvent({
      type: 'AppRegistered',
      data: { ...eventExamples.AppRegistered, appId: 'app_fuzzed', signer: addressOfKey(key) },
    }),
  ]);
  const node = { address: TOKEN, domain: EVENT_URL, rpcDomain: 'http://stream.test', connections: 0, isReady: true };
  await foundation.readStore.announce(NODES_KIND, { id: 'node', renewals: 1, document: node });
  let signatures = 0;
  const signedAccess = () => {
    signatures += 1;
    const timestamp = `${toIso(clock.now()).slice(0, -1)}${String(signatures).padStart(9, '0')}Z`;
    const digest = messageDigest(streamAccessText({ node: TOKEN, timestamp }));
    return { node: TOKEN, timestamp, signature: `0x${signDigest(key, digest).toString('hex')}` };
  };
  return {
    registerContract: { next: () => Promise.resolve({ caller, body: another() }) },
    listContracts: { next: () => Promise.resolve({ caller, query: contract }) },
    getContract: { next: () => Promise.resolve({ caller, params: { id } }) },
    removeContract: { next: async () => ({ caller, params: await registered() }), once: true },
    pauseContract: { next: () => Promise.resolve({ caller, params: paused }) },
    replayContract: { next: () => Promise.resolve({ caller, params: { id }, body: { fromBlock: 12, toBlock: 15 } }) },
    resumeContract: { next: () => Promise.resolve({ caller, params: paused }) },
    queryEvents: {
      next: () => Promise.resolve({ caller, query: { ...contract, eventSignature: 'Transfer', take: '3' } }),
    },
    readStream: {
      next: () =>
        Promise.resolve({ caller, query: { ...contract, eventSignature: 'Transfer', fromBlock: '0', take: '3' } }),
    },
    listNodes: { next: () => Promise.resolve({ query: contract }) },
    validateAccess: { next: () => Promise.resolve({ body: signedAccess() }), once: true },
    readStatus: { next: () => Promise.resolve({ params: { ...contract, eventName: 'Transfer' } }) },
  };
};
