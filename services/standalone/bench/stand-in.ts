import { RunningProcess } from '../../../shared/testing/processes/running-process.ts';

/** Starts the stand-in for EventStoreDB in a process of its own, so that it does not share a thread with what is measured. */
export const startStandIn = async () => {
  const program = ['shared/testing/event-store-server/main.ts', '127.0.0.1:0'];
  const server = RunningProcess.spawn('the stand-in for EventStoreDB', program, {});
  const [, where = ''] = await server.ready(/listens on (\S+),/);
  return { url: `esdb://${where}?tls=false`, stop: () => server.stop() };
};
