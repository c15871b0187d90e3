import { Argument, Command } from 'commander';
import { maskUrl } from '../../../shared/config/mask-url.ts';
import { requiredByService, serviceNames, type ServiceName } from '../../../shared/config/services.ts';
import { settingDefinitions, type SettingName } from '../../../shared/config/settings.ts';
import { checkSettings, loadSettings, type LoadedSettings } from '../../../shared/config/load-settings.ts';

interface PrintedSetting {
  name: string;
  value: unknown;
  source: string;
  meaning: string;
}

export const configCommand = (): Command =>
  new Command('config')
    .description('shows or checks the settings that this process would run with')
    .addCommand(
      new Command('print')
        .description('lists every setting with its value, source and meaning; secrets masked')
        .option('--json', 'for machines')
        .addHelpText('after', '\nExample:\n  annals config print --json')
        .action(({ json }: { json?: boolean }) => {
          // No setting is required here: what a service needs is checked when that starts.
          const printed = printable(loadSettings(process.env, {}));
          process.stdout.write(json ? `${JSON.stringify(printed, null, 2)}\n` : printed.map(toLine).join(''));
        }),
    )
    .addCommand(
      new Command('check')
        .description('exits with 1 and names every wrong setting')
        .addArgument(new Argument('[service]', 'as a process of its own; default: all in one').choices(serviceNames))
        .option('--json', 'for machines')
        .addHelpText('after', '\nExamples:\n  annals config check\n  annals config check relay')
        .action((service: ServiceName | undefined, { json }: { json?: boolean }) => {
          const { wrong } = checkSettings(process.env, service && requiredByService[service]);
          if (wrong.length > 0) process.exitCode = 1;
          if (json) {
            process.stdout.write(`${JSON.stringify({ ok: wrong.length === 0, wrong })}\n`);
            return;
          }
          const lines =
            wrong.length === 0 ? ['every setting is valid'] : wrong.map(({ name, message }) => `${name} ${message}`);
          process.stdout.write(`${lines.join('\n')}\n`);
        }),
    );

export const printable = ({ settings, sources }: LoadedSettings): PrintedSetting[] =>
  Object.entries(settingDefinitions).map(([name, { meaning, secret }]) => {
    const value = settings[name as SettingName] ?? null;
    const shown = value === null || secret === false ? value : secret === true ? '********' : withoutKeys(value);
    return { name, value: shown, source: sources[name as SettingName], meaning };
  });

const withoutKeys = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'string' && part.includes('://') ? maskUrl(part) : part,
    ),
  );

const toLine = ({ name, value, source, meaning }: PrintedSetting): string => {
  const shown = value === null ? '(none)' : typeof value === 'string' ? value : JSON.stringify(value);
  return `${name.padEnd(24)} ${shown.padEnd(24)} ${source.padEnd(12)} ${meaning}\n`;
};
