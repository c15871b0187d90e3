import { heldBecause } from '../../../schemas/events/held.ts';
import type { HeldRecipient, PersonalData } from '../../../schemas/http/account/personal-data.ts';
import { sectionReaders, sessionsOf, type HeldPage, type HeldSources, type HeldSubject } from './held-data.ts';
import { heldSections, type SectionName } from './held-sections.ts';

/** An app with a session of the user. */
export interface SessionApp extends HeldRecipient {
  /** Whether its sessions see what came through other apps. */
  isTrusted: boolean;
}

/** Returns the apps of all sessions of a user, the first first, with the first and the last time that a session was used. */
export const sessionAppsOf = async (
  sources: HeldSources,
  userId: string,
  isTrusted: (appId: string) => Promise<boolean>,
): Promise<SessionApp[]> => {
  const times = new Map<string, { since: string; last: string }>();
  for await (const page of sessionsOf(sources, userId)) {
    for (const { appId, createdAt, lastUsedAt } of page) {
      const { since, last } = times.get(appId) ?? { since: createdAt, last: lastUsedAt };
      times.set(appId, {
        since: createdAt < since ? createdAt : since,
        last: lastUsedAt > last ? lastUsedAt : last,
      });
    }
  }
  const apps = Array.from(times, async ([app, used]) => ({ app, ...used, isTrusted: await isTrusted(app) }));
  return (await Promise.all(apps)).toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
};

const orderOf = ({ since, app }: SessionApp): string => since + app;

/** The members of the document around its sections. */
export type DocumentFrame = Omit<PersonalData, 'sections'>;

interface DocumentParts {
  sources: HeldSources;
  subject: HeldSubject;
  frame: DocumentFrame;
  apps: readonly SessionApp[];
}

/** Yields the JSON of the document, one page of a section at a time. */
export async function* personalDocument({ sources, subject, frame, apps }: DocumentParts): AsyncGenerator<string> {
  const { history, ...head } = frame;
  yield `${opened(head)},"sections":[`;
  for (const [at, name] of (Object.keys(heldSections) as SectionName[]).entries()) {
    const { from, source, readBy } = heldSections[name];
    yield `${at === 0 ? '' : ','}${opened({ name, ...heldBecause(from), source })},"data":`;
    const named = new Set<string>();
    const pages: AsyncGenerator<HeldPage> = sectionReaders[name](sources, subject);
    yield* jsonOf(pages, { named, isList: name !== 'profile' });
    const recipients = apps.flatMap(({ isTrusted, ...recipient }): HeldRecipient[] => {
      const reads = readBy === 'every-app' || (readBy === 'trusted-apps' && isTrusted);
      return reads || named.has(recipient.app) ? [recipient] : [];
    });
    yield `,"recipients":${JSON.stringify(recipients)}}`;
  }
  yield `],"history":${JSON.stringify(history)}}`;
}

/** The JSON of an object without its closing brace. */
const opened = (members: object): string => JSON.stringify(members).slice(0, -1);

/** Yields the JSON of the items of all pages, and collects the apps that they name. */
async function* jsonOf(
  pages: AsyncIterable<HeldPage>,
  { named, isList }: { named: Set<string>; isList: boolean },
): AsyncGenerator<string> {
  if (isList) yield '[';
  let isFirst = true;
  for await (const { items, apps } of pages) {
    for (const app of apps) named.add(app);
    if (items.length === 0) continue;
    yield `${isFirst ? '' : ','}${items.map((item) => JSON.stringify(item)).join(',')}`;
    isFirst = false;
  }
  if (isList) yield ']';
}
