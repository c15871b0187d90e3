import type { Foundation, WithMessageBus } from '../../shared/host/foundation.ts';
import { messageBusReport } from '../../shared/host/health/message-bus-report.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import { startLoops } from '../../shared/host/start-loops.ts';
import { RELAY_CHECKPOINT } from './publish-events/checkpoint.ts';
import { relayLoop } from './publish-events/relay-loop.ts';

/** Starts the relay, the only writer of the message bus. Ready once every stored event is published, or on standby. */
export const startRelay = (foundation: Foundation & WithMessageBus): RunningPart => {
  const running = startLoops(foundation, [{ checkpoint: RELAY_CHECKPOINT, loop: relayLoop(foundation) }]);
  const report = messageBusReport(foundation);
  report.start();
  return {
    ...running,
    close: async () => {
      await Promise.all([report.stop(), running.close()]);
    },
  };
};
