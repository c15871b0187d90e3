import kafkajs, { type logCreator } from 'kafkajs';
import type { Logger } from 'pino';
import { LogThrottle } from '../primitives/log-throttle.ts';

/** Of a broker that just started, a group that changes, a client given up: kafkajs calls it an error, and tries again. */
const PASSES_BY = /coordinator|rebalanc|leader|does not host this topic-partition|given up/i;

/**
 * kafkajs's messages in our log. Its errors are warnings here: it tries again after them, and what it gives up on fails
 * whoever asked, who says so.
 */
export const kafkaLogCreator = (logger: Logger): logCreator => {
  const reported = new LogThrottle();
  return () =>
    ({ level, namespace, log: { message, timestamp: _, logger: __, stack: ___, ...details } }) => {
      // Of an answer it says only there what is wrong with it.
      const said = `${message} ${String(details['error'] ?? '')}`;
      const isWarning = level === kafkajs.logLevel.ERROR && !PASSES_BY.test(said) && reported.isDue(message);
      logger[isWarning ? 'warn' : 'debug']({ kafka: { of: namespace, ...details } }, `kafka: ${message}`);
    };
};
