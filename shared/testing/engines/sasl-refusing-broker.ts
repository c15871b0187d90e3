import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { apis, int16, int32, kafkaAnswer, kafkaText, onKafkaFrame, readKafkaRequest } from './kafka-frames.ts';

const SASL_AUTHENTICATION_FAILED = 58;
/** The offered APIs with their lowest and highest version. */
const OFFERED = [
  [apis.metadata, 0, 6],
  [apis.saslHandshake, 0, 1],
  [apis.apiVersions, 0, 2],
  [apis.saslAuthenticate, 0, 0],
].flat();

/** Answers as a Kafka broker with a SASL listener does: refuses every login, and then closes the connection. */
export const startSaslRefusingBroker = async (): Promise<{ address: string; close: () => void }> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onKafkaFrame(socket, (frame) => {
      const request = readKafkaRequest(frame);
      const answer = (...parts: Buffer[]) => socket.write(kafkaAnswer(request, ...parts));
      switch (request.api) {
        case apis.apiVersions:
          return answer(int16(0), int32(OFFERED.length / 3), ...OFFERED.map(int16), int32(0));
        case apis.saslHandshake:
          return answer(int16(0), int32(1), kafkaText('PLAIN'));
        case apis.saslAuthenticate: {
          const reason = kafkaText('Authentication failed: Invalid username or password');
          answer(int16(SASL_AUTHENTICATION_FAILED), reason, int32(0));
          return socket.end();
        }
        default:
          return socket.destroy();
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
};
