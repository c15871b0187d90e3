import { InvalidArgumentError, type Command } from 'commander';
import type { SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import type { App } from '../../../account/app-administration.ts';
import { readSponsorship, type DaySponsorship } from '../../../onchain/sponsorship-administration.ts';
import { withEngines } from '../with-engines.ts';
import { anAddress, chainNumber, wei } from '../chains/chain-arguments.ts';
import { servedChain } from '../chains/served-chain.ts';
import { command, print, type Json } from '../command.ts';
import { APP_ID, changeApps, ofApp, readApps } from './with-apps.ts';
import { WrongArguments } from '../wrong-arguments.ts';

type Allowed = SponsorshipPolicy['allow'];

interface PolicyOptions extends Json {
  chain: number;
  day?: bigint;
  userDay?: bigint;
  operation?: bigint;
  /** `false` with `--no-limit`. */
  limit: boolean;
  allow: Allowed;
  anySession?: boolean;
}

const TARGET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

export const appPolicyCommand = (): Command =>
  command('policy', 'what an app pays for on a chain; amounts are wei', `app policy show ${APP_ID}`)
    .addCommand(
      ofApp(
        'policy set',
        'says what an app pays for on a chain, instead of what was said before; in effect within 2 s',
        ` --chain 137 --day 100000000000000000000 --user-day 10000000000000000000 --operation 100000000000000000 --allow ${TARGET}:0xa9059cbb`,
      )
        .requiredOption('--chain <id>', 'the id of the chain', chainNumber)
        .option('--day <wei>', 'the most in a UTC day', wei)
        .option('--user-day <wei>', 'the most for one user in a UTC day', wei)
        .option('--operation <wei>', 'the most that one operation may cost', wei)
        .option('--no-limit', 'where one of these three is not given, there is no limit')
        .option(
          '--allow <target[:selector]>',
          'a contract that may be called, with any data or with this selector (0x: no data); may be given several times; without it any target may be called',
          allowAlso,
          [],
        )
        .option('--any-session', 'sessions of other apps may use it too')
        .action(setPolicy),
    )
    .addCommand(ofApp('policy show', 'what an app pays for, on each chain', ' --json').action(showPolicies))
    .addCommand(
      ofApp('policy remove', 'ends what an app pays for on a chain; in effect within 2 s', ' --chain 137')
        .requiredOption('--chain <id>', 'the id of the chain', chainNumber)
        .action(removePolicy),
    );

export const appSponsorshipCommand = (): Command =>
  ofApp('sponsorship', 'what an app pays and paid on a UTC day, on each chain, in wei', ' --day 2026-01-31 --json')
    .option('--day <YYYY-MM-DD>', 'today without it', aDay)
    .action(showSponsorship);

/** Adds `TARGET` or `TARGET:SELECTOR`. A target without selectors allows all, so further selectors are pointless. */
const allowAlso = (text: string, before: Allowed): Allowed => {
  const [, address = text, selector] = /^([^:]*):(.*)$/.exec(text) ?? [];
  const target = anAddress(address);
  if (selector !== undefined && !/^0x(?:[0-9a-fA-F]{8})?$/.test(selector)) {
    throw new InvalidArgumentError('The selector is not 0x, or 0x and 8 hex digits.');
  }
  const known = before.find((one) => one.target === target);
  const others = before.filter((one) => one !== known);
  if (selector === undefined || known?.selectors === null) return [...others, { target, selectors: null }];
  return [...others, { target, selectors: [...new Set([...(known?.selectors ?? []), selector.toLowerCase()])] }];
};

const aDay = (text: string): string => {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
  // JavaScript reads 30 February as a day of March.
  if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(text)) return text;
  throw new InvalidArgumentError('It is not a day: YYYY-MM-DD.');
};

const setPolicy = (appId: string, { chain: chainId, ...options }: PolicyOptions): Promise<void> => {
  const { day, userDay, operation, limit, allow, anySession = false } = options;
  const missing = Object.entries({ '--day': day, '--user-day': userDay, '--operation': operation })
    .filter(([, amount]) => amount === undefined)
    .map(([flag]) => flag);
  if (limit && missing.length > 0) throw new WrongArguments(`${missing.join(', ')}: say how much, or say --no-limit`);
  const policy = {
    dayWei: day === undefined ? null : String(day),
    userDayWei: userDay === undefined ? null : String(userDay),
    operationWei: operation === undefined ? null : String(operation),
    allow,
    anySession,
  };
  return changeApps(async (apps, settings) => {
    const { policies } = await apps.change(appId, { chainId: servedChain(chainId, settings).chainId, policy });
    printPolicies(appId, policies, options);
  });
};

const removePolicy = (appId: string, { chain: chainId, ...options }: { chain: number } & Json): Promise<void> =>
  changeApps(async (apps) => {
    const { policies } = await apps.change(appId, { chainId, policy: null });
    printPolicies(appId, policies, options);
  });

const showPolicies = (appId: string, options: Json): Promise<void> =>
  readApps(async (apps) => {
    printPolicies(appId, await apps.policies(appId), options);
  });

const showSponsorship = (appId: string, { day, ...options }: { day?: string } & Json): Promise<void> =>
  withEngines({ names: ['eventStore'], keepsFiles: false }, async (stores) => {
    const sponsorship = await readSponsorship(stores, appId, day);
    print(options, sponsorship, sponsorshipText(sponsorship));
  });

const printPolicies = (appId: string, policies: App['policies'], options: Json): void => {
  const listed = Object.entries(policies).map(([chainId, policy]) => ({ chainId: Number(chainId), ...policy }));
  print(options, { appId, policies: listed }, listed.map(policyText).join('\n') || 'the app pays for nothing');
};

const policyText = ({ chainId, ...policy }: SponsorshipPolicy & { chainId: number }): string => {
  const { dayWei, userDayWei, operationWei, allow, anySession } = policy;
  const upTo = (limit: string | null) => (limit === null ? 'no limit' : `${limit} wei`);
  const targets = allow.map(({ target, selectors }) => `${target} ${selectors?.join(', ') ?? 'any data'}`);
  return [
    `chain ${String(chainId)}`,
    `  a day            ${upTo(dayWei)}`,
    `  a user and day   ${upTo(userDayWei)}`,
    `  an operation     ${upTo(operationWei)}`,
    `  sessions         ${anySession ? 'of any app' : "the app's own"}`,
    ...(targets.length > 0 ? targets : ['any']).map((target) => `  target           ${target}`),
  ].join('\n');
};

const sponsorshipText = ({ day, chains }: DaySponsorship): string => {
  const lines = chains.map(({ chainId, dayWei, reserved, settled, operations }) => {
    const limit = dayWei === null ? 'no limit' : `of ${dayWei} wei`;
    return `chain ${String(chainId)}  reserved ${reserved} wei, settled ${settled} wei, ${limit}, ${String(operations)} operations`;
  });
  return `${day}\n${lines.join('\n') || 'nothing'}`;
};
