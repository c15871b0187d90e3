import { MESSAGES_READ_MAX, type MessagePlace } from '../../../relay/find-message.ts';
import type { Trail, TrailEvent } from './request-trail.ts';

/** The events of a request as a tree. */
export const trailText = ({ requestId, events, truncated }: Trail): string =>
  [
    `request ${requestId}`,
    ...branches(events),
    ...(truncated ? ['there are more events: these are the first'] : []),
  ].join('\n');

const branches = (events: readonly TrailEvent[]): string[] =>
  events.flatMap((event, at) => {
    const isLast = at === events.length - 1;
    const [first = '', ...rest] = linesOf(event);
    const children = branches(event.events);
    const own = rest.map((line) => (children.length > 0 ? `│  ${line}` : `   ${line}`));
    const below = [...own, ...children].map((line) => (isLast ? `   ${line}` : `│  ${line}`));
    return [`${isLast ? '└─' : '├─'} ${first}`, ...below];
  });

const linesOf = ({ stream, revision, type, time, position, facts, message, readModels }: TrailEvent): string[] => {
  const told = Object.entries(facts).map(([member, value]) => `${member} ${String(value)}`);
  const folded = readModels.filter(({ hasIt }) => hasIt).map(({ name }) => name);
  const waiting = readModels.filter(({ hasIt }) => !hasIt).map(({ name }) => name);
  return [
    `${time}  ${type}  ${stream}@${String(revision)}, position ${String(position)}`,
    ...(told.length > 0 ? [told.join(', ')] : []),
    ...(message ? [placeText(message)] : []),
    ...(folded.length > 0 ? [`in the read models ${folded.join(', ')}`] : []),
    ...(waiting.length > 0 ? [`not yet in the read models ${waiting.join(', ')}`] : []),
  ];
};

const placeText = ({ topic, state, partition, offset }: MessagePlace): string => {
  switch (state) {
    case 'published':
    case 'parked':
      return `${state === 'parked' ? 'parked ' : ''}in ${topic}, partition ${String(partition)}, offset ${String(offset)}`;
    case 'waiting':
      return `not yet in ${topic}`;
    case 'not found':
      return `not in ${topic} any more, or not among the ${String(MESSAGES_READ_MAX)} messages since its time`;
  }
};
