import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Server } from 'socket.io';
import { STREAM_NAMESPACE } from '../../../../schemas/socket/stream-messages.ts';
import { allTopics, topics } from '../../../../schemas/topics.ts';
import { SqliteMessageBus } from '../../../../shared/message-bus/embedded/message-bus.sqlite.ts';

/**
 * Socket.IO without Annals, on the same bus: a room for each contract, no tokens, no cursors to resume with, and no bound
 * for a client that does not read.
 */
const [folder = ''] = process.argv.slice(2);

process.once('disconnect', () => process.exit());
const messageBus = new SqliteMessageBus(join(folder, 'bus.db'));
await messageBus.createTopics(allTopics);
const server = createServer();
const namespace = new Server(server, { transports: ['websocket'], serveClient: false }).of(STREAM_NAMESPACE);
namespace.on('connection', (socket) => {
  socket.on('subscribe', ({ contractAddress }: { contractAddress: string }, acknowledge: (answer: object) => void) => {
    void socket.join(contractAddress);
    acknowledge({ ok: true, state: 'live' });
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`raw Socket.IO is ready: http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
});
const latest = await messageBus.offsets(topics.chainEvents, 'latest');
// As long as ours, which is signed.
const cursor = 'c'.repeat(70);
for await (const { messages } of messageBus.consume(topics.chainEvents, latest, new AbortController().signal)) {
  for (const { value } of messages) {
    const event = JSON.parse(value ?? '') as { WatchId: string; ContractAddress: string; EventSignature: string };
    const channel = `${event.WatchId}/${event.ContractAddress}/${event.EventSignature}/latest`;
    namespace.to(event.ContractAddress).emit('event', { channel, cursor, change: 'observed', event });
  }
}
