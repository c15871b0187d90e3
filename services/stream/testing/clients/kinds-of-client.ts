import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { StreamEvent } from '../../../../schemas/socket/stream-messages.ts';
import { isAborted } from '../../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { CHAIN_ID } from '../fake-catcher.ts';
import { EventStreamClient, serverSentEvents, readPage, streamAddress } from '../http-stream-client.ts';
import { StreamClient } from '../stream-client.socketio.ts';

/** What a client follows, from its first block on. */
export interface Followed {
  url: string;
  contractAddress: string;
  /** May fail, as an app's server may. */
  token: () => Promise<string>;
  take: (event: StreamEvent) => void;
  /** Called when the client is told of a gap: here there never is one. */
  hasGap: () => void;
  /** Called with what the client itself finds wrong, as a sentence. */
  violate: (sentence: string) => void;
  signal: AbortSignal;
}

/** How a client follows a channel until the signal aborts, whatever happens to its connection. */
export type KindOfClient = (followed: Followed) => Promise<void>;

const AGAIN_MS = 20;

/** Does it again and again, as a client does whose connection may end at any time. */
const again = async ({ signal }: Followed, attempt: () => Promise<void>): Promise<void> => {
  while (!isAborted(signal)) {
    // What ends an attempt is what the client is tested with.
    await attempt().catch(() => undefined);
    await pause(AGAIN_MS);
  }
};

/** Calls `close` when the client leaves, also if it has left already. @returns ends the listening */
const whenLeaving = ({ signal }: Followed, close: () => void): (() => void) => {
  signal.addEventListener('abort', close);
  if (isAborted(signal)) close();
  return () => {
    signal.removeEventListener('abort', close);
  };
};

export const pages: KindOfClient = async (followed) => {
  let query: Record<string, string> = { fromBlock: '0' };
  await again(followed, async () => {
    const { url, contractAddress } = followed;
    const headers = { authorization: `Bearer ${await followed.token()}` };
    const page = await readPage(url, { contractAddress, headers, query: { ...query, take: '7', wait: '1' } });
    for (const item of page.items) followed.take(item);
    if (page.gap) followed.hasGap();
    query = { cursor: page.cursor };
  });
};

export const eventStream: KindOfClient = async (followed) => {
  let lastEventId: string | undefined;
  await again(followed, async () => {
    const { url, contractAddress } = followed;
    const headers = {
      authorization: `Bearer ${await followed.token()}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    };
    const asked = { contractAddress, headers, query: { fromBlock: '0' } };
    const client = await EventStreamClient.open(url, asked, followed.take);
    const endListening = whenLeaving(followed, () => {
      client.close();
    });
    await client.ended;
    if (client.messages('gap').length > 0) followed.hasGap();
    endListening();
    // A connection that was cut before its first event has no id: the id of the connection before it still counts.
    lastEventId = client.lastEventId ?? lastEventId;
  });
};

export const hasCurl = existsSync('/usr/bin/curl');

/** `curl -N`, begun again with the last id by a loop of a shell script. */
export const curl: KindOfClient = async (followed) => {
  let lastEventId: string | undefined;
  await again(followed, async () => {
    const { url, contractAddress } = followed;
    const address = streamAddress(url, { contractAddress, query: { fromBlock: '0' } });
    const headers = [`authorization: Bearer ${await followed.token()}`, 'accept: text/event-stream'];
    if (lastEventId !== undefined) headers.push(`last-event-id: ${lastEventId}`);
    const args = ['--silent', '--fail', '-N', ...headers.flatMap((header) => ['-H', header]), address.href];
    const child = spawn('/usr/bin/curl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const endListening = whenLeaving(followed, () => child.kill());
    for await (const { id, name, data } of serverSentEvents(child.stdout)) {
      lastEventId = id ?? lastEventId;
      if (name === 'event') followed.take(data as StreamEvent);
      if (name === 'gap') followed.hasGap();
    }
    endListening();
  });
};

/** A client of Socket.IO that resumes at the cursor of the last event. */
export const socket: KindOfClient = async (followed) => {
  let cursor: string | undefined;
  await again(followed, async () => {
    const client = await StreamClient.connect(followed.url, await followed.token());
    client.socket.on('event', (event: StreamEvent) => {
      followed.take(event);
      ({ cursor } = event);
    });
    client.socket.on('gap', followed.hasGap);
    const { ended } = client;
    const endListening = whenLeaving(followed, () => {
      client.close();
    });
    const { contractAddress } = followed;
    const begin = cursor === undefined ? { fromBlock: 0 } : { cursor };
    const payload = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer', ...begin };
    try {
      const answer = (await Promise.race([client.request('subscribe', payload), ended])) as { ok?: boolean };
      if (answer.ok === true) await ended;
    } finally {
      client.close();
      endListening();
    }
  });
};
