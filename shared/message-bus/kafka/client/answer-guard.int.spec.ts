import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { connectForTests, kafkaSettings } from '../../../testing/engines/test-bus.kafka.ts';

/** An answer of two bytes, which is too short for a correlation id. */
const NONSENSE = Buffer.from([0, 0, 0, 2, 0, 0]);

it('an answer of another protocol breaks the connection, and not the process', async () => {
  const server = createServer((socket) =>
    socket.on('error', () => undefined).once('data', () => socket.write(NONSENSE)),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const settings = kafkaSettings(`127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  try {
    await expect(connectForTests(settings)).rejects.toThrow(/^KAFKA_BROKERS: .*the server there is not Kafka/);
  } finally {
    server.close();
  }
});
