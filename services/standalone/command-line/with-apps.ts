import type { Settings } from '../../../shared/config/settings.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { appAdministration, type AppAdministration } from '../../account/app-administration.ts';
import { withEngines } from './with-engines.ts';

type Work<Result> = (apps: AppAdministration, settings: Settings) => Promise<Result>;

/** Runs a command of an operator that only reads of apps, beside services that run or without any. */
export const readApps = <Result>(work: Work<Result>): Promise<Result> => withApps(work, false);

/** Runs one that changes an app. */
export const changeApps = <Result>(work: Work<Result>): Promise<Result> => withApps(work, true);

const withApps = <Result>(work: Work<Result>, changes: boolean): Promise<Result> =>
  withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false, changes }, (engines, settings) =>
    work(appAdministration({ ...engines, settings, clock: systemClock, ids: systemIds }), settings),
  );
