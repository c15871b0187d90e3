import { requestQueues, type RequestQueue } from './kafkajs-internals.kafka.ts';

let isGuarded = false;

/**
 * kafkajs 2.2.4 looks every millisecond, on every connection, whether a request waits: 4 % of a core for doing nothing, and
 * a warning of Node's about negative timeouts. A look is due only while a request waits or the broker throttles; a new
 * request and every answer ask again.
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
