import { styleText } from 'node:util';
import { entityOf, type UserDocument } from '../../../../shared/read-models/account/users.ts';
import type { Life, LifeItem } from './account-life.ts';
import { quoted, whatHappened } from './history-words.ts';

type Output = NodeJS.WritableStream;

/** Colours only on a terminal, and not with `NO_COLOR`. */
const styled = (format: 'bold' | 'dim', text: string, stream: Output): string => styleText(format, text, { stream });

/** The account, one member per line, without those that were never set. */
export const accountText = (userId: string, { user, erasedAt }: Omit<Life, 'items'>, until: string, output: Output) => {
  if (!user) {
    return `${userId} was erased at ${String(erasedAt)}: nobody can read its personal data any more. What remains of its history:\n`;
  }
  return `${styled('bold', userId, output)} ${until}\n${membersOf(user)}\n`;
};

const membersOf = (user: UserDocument): string => {
  const { id: _id, identities, smartAccounts, ...members } = entityOf(user);
  const lines = [
    ...Object.entries(members).flatMap(([name, value]) => (value === null ? [] : [[name, quoted(value)] as const])),
    ...identities.map(
      ({ method, label, linkedAt }) => ['login', `${method} ${quoted(label)}, since ${linkedAt}`] as const,
    ),
    ...smartAccounts.map(
      ({ chainId, address, deployed }) =>
        ['smart account', `${address} on chain ${String(chainId)}, ${deployed ? '' : 'not '}deployed`] as const,
    ),
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(22)}${value}\n`).join('');
};

/** Two lines: when what happened, and through what. */
export const itemText = (userId: string, item: LifeItem, output: Output): string => {
  const { time, type, data, actor, app, session, requestId, position } = item;
  const isOther = actor.type !== 'user' || actor.id !== userId;
  const through = [
    ...(isOther ? [`by ${actor.type} ${actor.id}`] : []),
    ...(app === null ? [] : [`app ${app}`]),
    ...(session === null ? [] : [`session ${session}`]),
    `request ${requestId}`,
    `position ${String(position)}`,
  ];
  const indent = ' '.repeat(time.length + 2);
  return `${styled('dim', time, output)}  ${whatHappened(type, data)}\n${styled('dim', indent + through.join(', '), output)}\n`;
};
