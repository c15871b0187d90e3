import type { streamRoutes } from '../http/stream/stream-routes.ts';
import { eventExamples } from './event-examples.ts';
import type { ExamplesOf } from './http-example.ts';

const record = eventExamples.ChainEventObserved;
const cursor = 'AAAAAAAAAAcAAAAAAAAl0TbiIhAMs3Y1dbeaIwmo';

/** For the OpenAPI document of the stream. */
export const streamExamples: ExamplesOf<typeof streamRoutes> = {
  readStream: {
    answer: {
      items: [
        {
          channel: `${record.WatchId}/${String(record.ChainId)}:${record.ContractAddress}/${record.EventSignature}/latest`,
          cursor,
          change: 'observed',
          event: { ...record, Status: 'observed' },
        },
      ],
      cursor,
      live: true,
      gap: null,
    },
  },
};
