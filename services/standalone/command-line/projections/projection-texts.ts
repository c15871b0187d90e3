import type { ListedVersion, VerifiedModel, VersionStatus } from '../../../projector/projection-administration.ts';

const SHOWN_MAX = 20;

/** One line per version, below a line of titles. */
export const listText = (versions: readonly ListedVersion[]): string =>
  table([
    ['NAME', 'VERSION', 'STATE', 'POSITION', 'LAG', 'DOCUMENTS', 'BYTES'],
    ...versions.map(({ name, version, current, state, position, lag, documents, bytes }) => [
      ...[name, version, current ? 'read' : state],
      ...[position, lag, documents, bytes].map(String),
    ]),
  ]);

export const statusText = (statuses: readonly VersionStatus[]): string =>
  table(
    statuses.map(({ name, version, position, lag, followed, caughtUp, secondsLeft, verifiedAt, differences }) => [
      ...[name, version, `at ${String(position)}`],
      caughtUp
        ? 'caught up'
        : `${String(lag)} behind, ${secondsLeft === null ? 'does not move' : `${String(secondsLeft)} s left`}`,
      verifiedAt === null
        ? 'not compared yet'
        : `compared ${verifiedAt}: ${differences === 0 ? 'no difference' : `${String(differences)} differ`}`,
      followed ? '' : 'no process works on it: start a projector',
    ]),
  );

export const verifiedText = ({ name, position, compared, differences, repaired }: VerifiedModel): string => {
  const documents = `${name}: ${String(compared)} documents at position ${String(position)}`;
  const lines = [
    ...repaired.map(({ collection, id, kind }) => `  ${kind} and repaired: ${id} in ${collection}`),
    ...differences.map(({ collection, id, kind }) => `  ${kind}: ${id} in ${collection}`),
  ];
  const more = lines.length > SHOWN_MAX ? [`  and ${String(lines.length - SHOWN_MAX)} more: --json names all`] : [];
  const result =
    differences.length > 0
      ? `${String(differences.length)} differ from a fresh fold; --repair rewrites them`
      : `all equal to a fresh fold${repaired.length > 0 ? `, ${String(repaired.length)} after a repair` : ''}`;
  return [`${documents}, ${result}`, ...lines.slice(0, SHOWN_MAX), ...more].join('\n');
};

const table = (rows: readonly (readonly string[])[]): string => {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
