import { startCatcherRoutes } from '../../event-catcher/testing/catcher-routes.module.ts';
import { projected } from './projected.ts';

/** More than requests register. */
const MANY = 1_000_000;

/** The routes of the event catcher with a projector. */
export const startCatcherUnderFuzzing = async () => {
  const catcher = await startCatcherRoutes({ QUOTAS: JSON.stringify({ userWatches: MANY, appWatches: MANY }) });
  const { projector, caughtUp } = projected(catcher.foundation);
  const close = async () => {
    await catcher.service.close();
    await projector.close();
  };
  return { ...catcher, caughtUp, close };
};
export type CatcherUnderFuzzing = Awaited<ReturnType<typeof startCatcherUnderFuzzing>>;
