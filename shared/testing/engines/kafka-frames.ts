import type { Socket } from 'node:net';

const SIZE_BYTES = 4;

/** The header of a request of the Kafka protocol. */
interface KafkaRequest {
  api: number;
  version: number;
  /** The correlation id, which the answer repeats. */
  number: number;
}

export const apis = {
  produce: 0,
  metadata: 3,
  findCoordinator: 10,
  saslHandshake: 17,
  apiVersions: 18,
  saslAuthenticate: 36,
} as const;

/** Calls `take` with every complete request or answer, preceded by its size. */
export const onKafkaFrame = (socket: Socket, take: (frame: Buffer) => void): void => {
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= SIZE_BYTES) {
      const end = SIZE_BYTES + received.readInt32BE(0);
      if (received.length < end) return;
      take(received.subarray(0, end));
      received = received.subarray(end);
    }
  });
};

export const readKafkaRequest = (frame: Buffer): KafkaRequest => ({
  api: frame.readInt16BE(4),
  version: frame.readInt16BE(6),
  number: frame.readInt32BE(8),
});

export const kafkaAnswer = ({ number }: KafkaRequest, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat([int32(number), ...parts]);
  return Buffer.concat([int32(body.length), body]);
};

export const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};

export const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

export const kafkaText = (text: string): Buffer => Buffer.concat([int16(Buffer.byteLength(text)), Buffer.from(text)]);
