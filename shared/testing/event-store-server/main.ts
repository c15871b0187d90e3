import { EventStoreServer } from './event-store-server.esdb.ts';

/** As a real server does by default. */
const STATISTICS_EVERY_MS = 30_000;

const [host = '0.0.0.0', port = '2113'] = process.argv[2]?.split(':') ?? [];
const server = await EventStoreServer.start({ host, port: Number(port) });
process.stdout.write(
  `A stand-in for EventStoreDB, for tests: listens on ${host}:${String(server.port)}, keeps its data in memory only.\n`,
);

setInterval(() => {
  server.writeStatistics();
}, STATISTICS_EVERY_MS).unref();

const stop = () => {
  void server.close().then(() => process.exit(0));
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
process.once('disconnect', stop);
