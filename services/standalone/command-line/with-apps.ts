import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { appAdministration, type AppAdministration } from '../../account/app-administration.ts';
import { withEngines } from './with-engines.ts';

/** Runs a command of an operator for apps, beside services that run or without any. */
export const withApps = <Result>(work: (apps: AppAdministration) => Promise<Result>): Promise<Result> =>
  withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false }, (engines, settings) =>
    work(appAdministration({ ...engines, settings, clock: systemClock, ids: systemIds })),
  );
