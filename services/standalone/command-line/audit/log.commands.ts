import { Command } from 'commander';
import type { StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../../shared/event-store/read-every.ts';
import { ComputedSeals } from '../../../../shared/audit/seals/computed-seals.ts';
import type { KeptCheckpoint } from '../../../../shared/audit/exported-leaves.ts';
import { StoredLog } from '../../../../shared/transparency-log/stored-log.ts';
import { HASH_BYTES } from '../../../../shared/transparency-log/merkle-tree.ts';
import { widthIn, type TileId } from '../../../../shared/transparency-log/tiles.ts';
import { verifyLog, type Difference, type VerifiedLog } from '../../../../shared/transparency-log/verify-log.ts';
import { exportLogCommand } from './export-log.command.ts';
import { collect, readKeptCheckpoint, tilesOf } from './kept-log.ts';
import { showProgress } from '../show-progress.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { withEngines } from '../with-engines.ts';

interface Options {
  checkpoint: string[];
  tiles?: string;
  json?: boolean;
}

/** A checkpoint, and what it is of: a file, or what is served. */
interface Named extends KeptCheckpoint {
  isServed: boolean;
}

export const logCommand = (): Command =>
  new Command('log')
    .description('the transparency log, a Merkle tree over all lasting events')
    .addCommand(
      new Command('verify')
        .description('computes the tree from the event store, and compares it with what is served and what was kept')
        .option('--checkpoint <file>', 'a checkpoint that somebody kept; can be given several times', collect, [])
        .option('--tiles <folder>', 'tiles that somebody kept, as <folder>/tile/0/000; default: those that are served')
        .option('--json', 'for machines')
        .addHelpText(
          'after',
          '\nNames the first event that was changed, removed, added or moved, and ends with exit code 1 then. Whoever can write the\nstores can make the served tiles anew too: only what was kept elsewhere, by a witness for example, proves that nobody did.\n\nExample:\n  annals audit log verify --checkpoint log.state',
        )
        .action(verify),
    )
    .addCommand(exportLogCommand());

const verify = ({ checkpoint: files, tiles: folder, json }: Options): Promise<void> => {
  const kept = files.map((file): Named => ({ ...readKeptCheckpoint(file), isServed: false }));
  const tilesOfFolder = folder === undefined ? undefined : tilesOf(folder);
  return withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false }, ({ eventStore, readStore }) =>
    unlessInterrupted(async (signal) => {
      const log = new StoredLog(readStore);
      const served: Named = { ...(await log.state()), origin: '', of: 'what is served', isServed: true };
      // The projector may add leaves meanwhile, to these tiles too.
      const tilesServed = async (id: TileId) =>
        (await log.tiles([id]))[0]?.subarray(0, widthIn(served.size, id) * HASH_BYTES) ?? new Uint8Array();
      const seals = await ComputedSeals.of(eventStore);
      const verified = await verifyLog(
        observed(readEvery(eventStore), seals, signal),
        { tile: tilesOfFolder ?? tilesServed, checkpoints: [...kept, ...(served.size > 0 ? [served] : [])] },
        showProgress('leaves', served.size),
      );
      const sealed = seals.result();
      const isVerified =
        !verified.difference &&
        verified.failing.length === 0 &&
        verified.fitting.length > 0 &&
        sealed.wrong.length === 0;
      const text = json
        ? JSON.stringify({ verified: isVerified, ...forMachines(verified), seals: sealed })
        : [...textOf(verified), ...sealsText(sealed)].join('\n');
      process.stdout.write(`${text}\n`);
      if (!isVerified) process.exitCode = 1;
    }),
  );
};

async function* observed(
  events: AsyncIterable<StoredEvent>,
  seals: ComputedSeals,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent> {
  for await (const event of events) {
    signal.throwIfAborted();
    seals.add(event);
    yield event;
  }
}

const forMachines = ({ size, root, compared, difference, fitting, failing }: VerifiedLog<Named>) => ({
  ...{ size, root: root.toString('base64'), compared, difference: difference ?? null },
  ...{ fitting: fitting.map(namedRoot), failing: failing.map(namedRoot) },
});

const namedRoot = ({ of, size, root }: Named) => ({ of, size, root: root.toString('base64') });

const textOf = (verified: VerifiedLog<Named>): string[] => {
  const { size, root, difference, fitting, failing } = verified;
  return [
    ...(difference ? [differenceText(difference)] : []),
    ...fitting.map((one) => `${one.of} fits: its ${String(one.size)} leaves are as they were`),
    ...failing.map((one) => failingText(one, size)),
    ...conclusions(verified),
    `the event store has ${String(size)} leaves with the root ${root.toString('base64')}`,
  ];
};

const sealsText = ({ right, wrong }: ReturnType<ComputedSeals['result']>): string[] => [
  ...(right > 0 ? [`${String(right)} seals fit: all histories were as they say`] : []),
  ...wrong.map(({ revision, why }) => `the seal log@${String(revision)} does not fit: ${why}`),
];

const failingText = ({ of, size, root }: Named, leaves: number): string => {
  if (size > leaves)
    return `${of} does not fit: it has ${String(size)} leaves, and the event store has only ${String(leaves)}`;
  return `${of} does not fit: its ${String(size)} leaves had the root ${root.toString('base64')}`;
};

const conclusions = ({ difference, fitting, failing }: VerifiedLog<Named>): string[] => {
  // What is served can be made anew by whoever changed the events.
  const byOthers = fitting.filter(({ isServed }) => !isServed);
  const largest = byOthers.at(-1)?.size ?? 0;
  const [firstFailing] = failing;
  if (difference && largest > difference.leaf)
    return ['the tiles are wrong: the events are as a larger checkpoint says'];
  if (difference) return [];
  if (firstFailing && firstFailing.size < largest)
    return [`${firstFailing.of} is of another log, or was changed itself: a larger checkpoint fits`];
  if (firstFailing)
    return [`the first change is among leaves ${String(largest)} to ${String(firstFailing.size - 1)}, counted from 0`];
  if (fitting.length === 0)
    return ['nothing was compared: no log is stored (does a projector run?), and no --checkpoint was given'];
  const others =
    byOthers.length > 0
      ? 'nothing was changed, removed, added or moved before the largest checkpoint that fits'
      : 'as served: whoever can write the stores can write both, so only a --checkpoint that somebody else kept proves more';
  return [others, 'the data of events about users is compared by "annals audit verify" with an export, not here'];
};

const differenceText = ({ what, leaf, event }: Difference): string => {
  const where =
    event && `${event.stream}@${String(event.revision)} (position ${String(event.position)}, event ${event.id})`;
  if (what !== 'removed') return `leaf ${String(leaf)}: ${where ?? 'an event'} was ${what}`;
  return `leaf ${String(leaf)}: an event was removed, or moved far away, ${where ? `before ${where}` : 'from the end'}`;
};
