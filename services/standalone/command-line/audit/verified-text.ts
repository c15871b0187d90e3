import type { InLog } from '../../../../shared/audit/exported-leaves.ts';
import type { VerifiedExport } from '../../../../shared/audit/verify-export.jose.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';

export const NOT_SIGNED = 'the signature of the last line was not verified: give --jwks';

/** Returns a sentence for each thing that is proven, and for each that is not. */
export const verifiedText = (verified: VerifiedExport): string =>
  [...signatureText(verified), ...(verified.log ? logText(verified.log, verified.items) : [])].join('\n');

const signatureText = ({ sub, items, erased, position, time, signedBy, log }: VerifiedExport): string[] => {
  const whose = sub === null ? 'A history of' : `The history of ${sub}:`;
  const unreadable = erased === 0 ? '' : ', without their data, because the user was erased';
  const all = `${whose} ${String(items)} items, whose lines fit each other${unreadable}.`;
  const signed =
    sub === null
      ? 'the hash of the last item. It is an export of the first format: the signature says neither whose history it is, nor how many items it has, nor until when'
      : `that this is the history of ${sub}, that it has these items and no others up to position ${String(position)} of the event store, and that it was exported at ${String(time)}`;
  const format =
    log || sub === null
      ? []
      : ['It is an export of an earlier format, which says nothing about the log of all events.'];
  if (signedBy !== null) return [all, `The audit key ${signedBy} has signed ${signed}.`, ...format];
  return [all, `Not proven: ${signed}. For ${NOT_SIGNED}.`, ...format];
};

const logText = (log: InLog, items: number): string[] => [
  ...checkpointText(log, items),
  ...witnessText(log),
  ...(log.unattributed === 0
    ? []
    : [
        `Not proven by the log: that ${String(log.unattributed)} items of other streams than the user's are this user's, because they have no data.`,
      ]),
  ...completenessText(log.completeness, items),
];

const checkpointText = ({ origin, size, signedBy }: InLog, items: number): string[] => {
  const of = `a checkpoint of ${String(size)} events that calls itself ${origin}`;
  return [
    items === 0 ? `It has ${of}.` : `Each item is in the tree of ${of}.`,
    signedBy === null
      ? "Not proven: that the checkpoint is the log's own. Give --log-key."
      : "The log's key has signed that checkpoint.",
  ];
};

const witnessText = ({ size, cosignedBy, agreesWith }: InLog): string[] => {
  const witnessed = cosignedBy.map(
    ({ name, of, time }) =>
      `The witness ${name} has cosigned ${of ?? 'that checkpoint'} at ${time === undefined ? 'an unknown time' : toIso(time * 1_000)}, which it does only if it continues the one that it saw before.`,
  );
  const kept = agreesWith.map(({ of, size: other }) => {
    const agrees = `${of} is of the same tree: the first ${String(Math.min(size, other))} events of the log are the same in both`;
    return other > size ? `${agrees}. It has ${String(other - size)} later ones.` : `${agrees}.`;
  });
  if (witnessed.length + kept.length > 0) return [...witnessed, ...kept];
  return [
    'Not proven: that the log shows the same to everybody. Give --checkpoint with one that was kept elsewhere, or --witness.',
  ];
};

const completenessText = (completeness: InLog['completeness'], items: number): string[] => {
  if (!completeness)
    return ['Not proven by the log: that no item was left out. This export shows no seal of all histories.'];
  const { items: sealed, sealedAt, eventsSince } = completeness;
  return [
    `The log's operator sealed all histories at ${sealedAt}: this one had the first ${String(sealed)} items then, and no others.`,
    `Not proven by the log: that none was left out of what came later. It has ${String(eventsSince)} events of anybody since that seal, and ${String(items - sealed)} are shown here.`,
  ];
};
