import type { Socket } from 'node:net';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { attackerConnection, requestText } from '../attackers.ts';

const upgrade = requestText('GET', '/socket.io/?EIO=4&transport=websocket', {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
});

/** A WebSocket from the attacker's address that follows no protocol. */
export interface AttackerSocket {
  socket: Socket;
  /** Resolves with whether the server opened the socket. */
  opened: Promise<boolean>;
  closed: Promise<void>;
  /** Returns the last bytes that the server has sent so far, at least those of a closing frame. */
  lastBytes: () => Buffer;
}

/** The length of the longest closing frame of a server: RFC 6455, section 5.5. */
const CLOSING_FRAME_BYTES_MAX = 127;

export const openSocket = (url: string): AttackerSocket => {
  const socket = attackerConnection(url);
  const { promise: opened, resolve: setOpened } = Promise.withResolvers<boolean>();
  const { promise: closed, resolve: setClosed } = Promise.withResolvers<undefined>();
  let last = Buffer.alloc(0);
  socket.once('data', (received) => {
    setOpened(received.toString('latin1').startsWith('HTTP/1.1 101'));
  });
  socket.on('data', (received: Buffer) => {
    last = Buffer.concat([last, received.subarray(-CLOSING_FRAME_BYTES_MAX)]).subarray(-CLOSING_FRAME_BYTES_MAX);
  });
  socket.on('close', () => {
    setOpened(false);
    setClosed(undefined);
  });
  socket.write(upgrade);
  socket.resume();
  return { socket, opened, closed, lastBytes: () => last };
};

/** Opens a socket and connects with a token. @throws if that is refused */
export const joinStream = async (url: string, token: string): Promise<AttackerSocket> => {
  const joining = openSocket(url);
  if (!(await joining.opened)) throw new Error('the socket was not opened');
  const { promise: joined, resolve, reject } = Promise.withResolvers<undefined>();
  const listen = (received: Buffer) => {
    if (received.includes('40/events')) resolve(undefined);
    if (received.includes('44/events')) reject(new Error(`refused: ${received.toString('latin1')}`));
  };
  joining.socket.on('data', listen).write(textFrame(connectPacket(token)));
  void joining.closed.then(() => {
    reject(new Error('closed'));
  });
  await joined;
  joining.socket.off('data', listen);
  return joining;
};

export const connectPacket = (token: string): string => `40/events,${JSON.stringify({ token })}`;

const FINAL_TEXT = 0x81;
const MASKED = 0x80;
const LENGTH_IN_TWO_BYTES = 126;

/** A text message of a client: RFC 6455, section 5.2. Its mask is zero, so the payload is sent unchanged. */
export const textFrame = (text: string): Buffer => {
  const payload = Buffer.from(text);
  const header =
    payload.length < LENGTH_IN_TWO_BYTES
      ? [FINAL_TEXT, MASKED | payload.length]
      : [FINAL_TEXT, MASKED | LENGTH_IN_TWO_BYTES, payload.length >> 8, payload.length & 0xff];
  return Buffer.concat([Buffer.from([...header, 0, 0, 0, 0]), payload]);
};

const FRAMES_AT_ONCE = 1_000;

/** Sends a frame this many times, as fast as the server accepts it, until the socket is closed. */
export const sendOften = async ({ socket, closed }: AttackerSocket, frame: Buffer, times: number): Promise<void> => {
  const chunk = Buffer.alloc(frame.length * FRAMES_AT_ONCE, frame);
  for (let sent = 0; sent < times && !socket.destroyed; sent += FRAMES_AT_ONCE) {
    if (socket.write(chunk)) continue;
    const { promise: drained, resolve } = Promise.withResolvers<undefined>();
    socket.once('drain', resolve);
    await Promise.race([drained, closed]);
  }
};

const CUT_WITHIN_MS = 60_000;

const FINAL_CLOSE = 0x88;
/** The opcode, the length and the code stand before the reason. */
const REASON_AT = 4;

/**
 * Waits until the server closes the socket. Returns the reason in its closing frame; empty without a closing frame: the
 * frame is lost if the attacker does not read it within the second after which the server resets the connection.
 */
export const untilCut = async ({ socket, lastBytes }: AttackerSocket): Promise<string> => {
  await eventually(() => socket.closed, CUT_WITHIN_MS, 'the server must cut the socket');
  // The reason is ASCII, so the last byte of this value begins the frame.
  const from = lastBytes().lastIndexOf(FINAL_CLOSE);
  return from < 0 ? '' : lastBytes().toString('utf8', from + REASON_AT);
};
