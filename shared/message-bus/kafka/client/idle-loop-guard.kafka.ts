import { requestQueues, type RequestQueue } from './kafkajs-internals.kafka.ts';

let isGuarded = false;

/**
 * Stops the polling of idle connections. kafkajs 2.2.4 checks every millisecond, on every connection, whether a request
 * waits, which costs 4 % of a core and causes a warning of Node about negative timeouts. The check is needed only while
 * a request waits or the broker throttles; each new request and each answer starts it again.
 */
export const guardIdleLoops = (): void => {
  if (isGuarded) return;
  isGuarded = true;
  const { prototype } = requestQueues;
  prototype.scheduleCheckPendingRequests = onlyWhenDue(prototype.scheduleCheckPendingRequests);
};

const onlyWhenDue = (schedule: (this: RequestQueue) => void) =>
  function (this: RequestQueue): void {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this);
  };
