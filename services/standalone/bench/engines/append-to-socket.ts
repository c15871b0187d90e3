import { join } from 'node:path';
import { startLocalChain } from '../../../../shared/local-chain/local-chain-process.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProcesses } from '../../../../shared/testing/processes/running-processes.ts';
import { Subscriber } from '../../end-to-end/subscriber.socketio.ts';
import { registerTransfer } from '../../end-to-end/register-transfer.ts';
import { latencyOf, type Latency } from '../measure.ts';
import { someObservation } from './some-observation.ts';

const PER_SECOND = 500;
const SECONDS = 20;
/** Not measured: connections and caches are cold, and code is not compiled yet. */
const WARM_UP_SECONDS = 5;
const ARRIVES_WITHIN_MS = 30_000;
const CONTRACT = '0x00000000000000000000000000000000000ca7c4';

/** Measures the time from an event's append to its delivery on a socket, with a process for each service. */
export const appendToSocket = async (
  folder: string,
  engines: Record<string, string>,
  eventStore: EventStore,
): Promise<Latency> => {
  const chain = await startLocalChain({ chainId: 2484, folder: join(folder, 'chain'), port: 0 });
  const CHAINS = JSON.stringify([{ chainId: chain.chainId, rpcUrls: [chain.rpcUrl] }]);
  try {
    const processes = await RunningProcesses.start(folder, { ...engines, CHAINS });
    try {
      return await measureLatency(...(await subscribe(processes)), eventStore);
    } finally {
      await processes.stop();
    }
  } finally {
    await chain.stop();
  }
};

const subscribe = async ({ development }: RunningProcesses): Promise<[Subscriber, watchId: string]> => {
  const user = await signIn(development);
  const registered = await registerTransfer(development, user, CONTRACT);
  if (registered.status !== 201) throw new Error(`the registration answered ${JSON.stringify(registered.body)}`);
  const { subscriber, refused } = await Subscriber.connect(development.streamUrl, user.accessToken);
  if (refused) throw new Error(`the stream refused ${JSON.stringify(refused)}`);
  const answer = await subscriber.subscribe({ chainId: 2484, contractAddress: CONTRACT, eventSignature: 'Transfer' });
  if (!answer.ok) throw new Error(`the stream answered ${JSON.stringify(answer)}`);
  return [subscriber, registered.body['id'] as string];
};

const measureLatency = async (subscriber: Subscriber, watchId: string, eventStore: EventStore): Promise<Latency> => {
  const appendedAt = new Map<string, number>();
  const tookMs: number[] = [];
  const warmUp = WARM_UP_SECONDS * PER_SECOND;
  const count = SECONDS * PER_SECOND;
  subscriber.socket.on('event', ({ event }: { event: { Id: string } }) => {
    tookMs.push(performance.now() - (appendedAt.get(event.Id) ?? Number.NaN));
  });
  const startedAt = performance.now();
  const appends: Promise<unknown>[] = [];
  let revision = -1;
  for (let sent = 0; sent < count;) {
    const due = Math.min(count, Math.floor(((performance.now() - startedAt) / 1_000) * PER_SECOND));
    for (; sent < due; sent += 1, revision += 1) {
      const event = someObservation(CONTRACT, sent, watchId);
      appendedAt.set(event.data['Id'] as string, performance.now());
      appends.push(eventStore.append(`chain-2484-${CONTRACT}`, revision, [event]));
    }
    await pause(1);
  }
  await Promise.all(appends);
  const deadline = performance.now() + ARRIVES_WITHIN_MS;
  while (tookMs.length < count && performance.now() < deadline) await pause(1);
  if (tookMs.length !== count) throw new Error(`${String(tookMs.length)} of ${String(count)} events arrived`);
  return latencyOf(`append to socket, ${String(PER_SECOND)} events/s`, tookMs.slice(warmUp));
};
