import kafkajs, { type logCreator } from 'kafkajs';
import type { Logger } from 'pino';
import { LogThrottle } from '../../../primitives/log-throttle.ts';

/** Errors of a starting broker, a rebalancing group or a closed client, which kafkajs retries. */
const TRANSIENT = /coordinator|rebalanc|leader|does not host this topic-partition|client was closed/i;

/**
 * Writes the messages of kafkajs to our log. Turns its errors into warnings: kafkajs retries after them, and if it
 * gives up, the caller fails and reports that.
 */
export const kafkaLogCreator = (logger: Logger): logCreator => {
  const reported = new LogThrottle();
  return () =>
    ({ level, namespace, log: { message, timestamp: _, logger: __, stack: ___, ...details } }) => {
      // For a failed response, only this field has the reason.
      const text = `${message} ${String(details['error'] ?? '')}`;
      const isWarning = level === kafkajs.logLevel.ERROR && !TRANSIENT.test(text) && reported.isDue(message);
      logger[isWarning ? 'warn' : 'debug']({ kafka: { of: namespace, ...details } }, `kafka: ${message}`);
    };
};
