import type { Command } from 'commander';
import type { Settings } from '../../../../shared/config/settings.ts';
import { appAdministration, type AppAdministration } from '../../../account/app-administration.ts';
import { command } from '../command.ts';
import { withEngines } from '../with-engines.ts';

export const APP_ID = 'app_0123456789abcdefghjkmnpqrs';

/** A command about one app. @param example what follows the app's id */
export const ofApp = (path: string, description: string, example = ''): Command =>
  command(path.split(' ').at(-1) ?? '', description, `app ${path} ${APP_ID}${example}`)
    .argument('<app id>', 'as annals app list shows it')
    .option('--json', 'for machines');

type Work<Result> = (apps: AppAdministration, settings: Settings) => Promise<Result>;

/** Runs an operator's command that only reads apps, whether services are running or not. */
export const readApps = <Result>(work: Work<Result>): Promise<Result> => withApps(work, false);

/** Runs an operator's command that changes an app. */
export const changeApps = <Result>(work: Work<Result>): Promise<Result> => withApps(work, true);

const withApps = <Result>(work: Work<Result>, changes: boolean): Promise<Result> =>
  withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false, changes }, (engines, settings) =>
    work(appAdministration({ ...engines, settings }), settings),
  );
