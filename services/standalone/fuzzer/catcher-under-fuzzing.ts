import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import { startStream } from '../../stream/stream.module.ts';
import { startCatcherRoutes } from '../../event-catcher/testing/routes/catcher-routes.module.ts';
import { projected } from './projected.ts';

/** More than requests register. */
const MANY = 1_000_000;

/** The routes of the event catcher and of the stream, with a projector. */
export const startCatcherUnderFuzzing = async () => {
  const catcher = await startCatcherRoutes({ QUOTAS: JSON.stringify({ userWatches: MANY, appWatches: MANY }) });
  const { projector, caughtUp } = projected(catcher.foundation);
  const messageBus = new MemoryMessageBus();
  const stream = await startStream({ ...catcher.foundation, messageBus }, catcher.tokens.issuer, {
    eventUrl: catcher.service.url,
  });
  const close = async () => {
    await Promise.all([catcher.service.close(), stream.close()]);
    await projector.close();
  };
  return { ...catcher, stream, caughtUp, close };
};
export type CatcherUnderFuzzing = Awaited<ReturnType<typeof startCatcherUnderFuzzing>>;
