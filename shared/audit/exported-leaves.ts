import { isDeepStrictEqual } from 'node:util';
import { logEvents, LOG_STREAM } from '../../schemas/events/account/log-events.ts';
import { userStream } from '../../schemas/events/account/user-events.ts';
import type {
  ExportedItem,
  ExportEnd,
  FirstExportEnd,
  FormerExportEnd,
  HistoryLine,
} from '../../schemas/http/account/history.ts';
import { hashedMembers, NO_HASH } from '../read-models/account/history-line.ts';
import { sha256 } from '../primitives/ids.ts';
import { digestOf } from '../primitives/text/canonical-json.ts';
import { safeParse } from '../primitives/text/safe-parse.ts';
import type { Checkpoint } from '../transparency-log/checkpoint.ts';
import { parseCheckpoint } from '../transparency-log/checkpoint.ts';
import { isContinued } from '../transparency-log/is-continued.ts';
import { leafOfEntry } from '../transparency-log/leaf-entry.ts';
import { rootByInclusion, type Hash } from '../transparency-log/merkle-tree.ts';
import { NotANote, openNote, parseNote, type NoteKey } from '../transparency-log/signed-note.ts';
import type { TileReader } from '../transparency-log/tiles.ts';
import { canonicalText, ExportNotProven } from './export-lines.ts';
import { sealLeaf } from './seals/seal-tree.ts';

/** What a verification trusts of the transparency log. */
export interface LogAnchors {
  /** The key of the log: the checkpoint must be signed with it. */
  logKey?: NoteKey | undefined;
  /** Keys of witnesses: each must have cosigned the checkpoint of the export, or one that was kept. */
  witnesses?: readonly NoteKey[];
  /** Checkpoints that somebody kept: that of the export must continue each, or be continued by it. */
  kept?: readonly KeptCheckpoint[];
  /** Returns tiles of the log, to compare checkpoints of different sizes. */
  tiles?: TileReader | undefined;
}

/** A checkpoint, and where it was kept. */
export interface KeptCheckpoint extends Checkpoint {
  of: string;
  /** With its signatures: a witness may have cosigned it. */
  note?: string;
}

/** How long the history was when the operator of the log sealed all histories. */
export interface SealedLength {
  items: number;
  sealedAt: string;
  /** How many events of anybody the log has between the seal and the checkpoint. */
  eventsSince: number;
}

/** Every item has a leaf in the tree of a checkpoint; this is the checkpoint, and who vouches for it. */
export interface InLog {
  origin: string;
  size: number;
  /** In base64. */
  root: string;
  /** The name of the log's key, if it was given. */
  signedBy: string | null;
  /**
   * The witnesses that were asked for, and when they cosigned, in Unix seconds. `of` is the kept checkpoint that it cosigned,
   * `null` where it cosigned that of the export.
   */
  cosignedBy: { name: string; of: string | null; time: number | undefined }[];
  /** The kept checkpoints with which the log agrees, and their numbers of leaves. */
  agreesWith: { of: string; size: number }[];
  /** How many items of other streams than the user's have no data that names the user, and are later than the seal. */
  unattributed: number;
  completeness: SealedLength | null;
}

/** The leaves that an export claims to be in the transparency log. */
export class ExportedLeaves {
  private readonly leaves: { number: number; hash: Hash; stream: string; hasData: boolean }[] = [];
  private nextRevision = 0;
  private readonly hashes: string[] = [];
  private hasLeaves: boolean | undefined;
  private readonly userIds = new Set<unknown>();

  add(line: ExportedItem | HistoryLine, where: string): void {
    const hasLeaf = 'leaf' in line;
    this.hasLeaves ??= hasLeaf;
    if (hasLeaf !== this.hasLeaves) throw new ExportNotProven(`${where} has another format than the lines before it`);
    if (!hasLeaf) return;
    requireSameAsMetadata(line, where);
    if (line.leaf <= (this.leaves.at(-1)?.number ?? -1))
      throw new ExportNotProven(`${where} is not a later leaf than the line before it`);
    if (line.data) this.userIds.add(line.data['userId']);
    if (line.stream.startsWith(userStream(''))) {
      if (line.revision !== this.nextRevision)
        throw new ExportNotProven(
          `an item is missing before ${where}: it has revision ${String(line.revision)} of ${line.stream}`,
        );
      this.nextRevision += 1;
    }
    const hasData = line.data !== null;
    this.leaves.push({ number: line.leaf, hash: leafOfLine(line, where), stream: line.stream, hasData });
    this.hashes.push(line.hash);
  }

  /** @param where names the last line */
  async finish(
    end: ExportEnd | FormerExportEnd | FirstExportEnd,
    where: string,
    anchors: LogAnchors,
  ): Promise<InLog | null> {
    if (!('checkpoint' in end)) {
      if (this.hasLeaves) throw new ExportNotProven(`${where} has another format than the lines before it`);
      if (anchors.logKey || anchors.witnesses?.length || anchors.kept?.length)
        throw new ExportNotProven(
          `${where} has no checkpoint: an export of an earlier format says nothing about the log`,
        );
      return null;
    }
    if (this.hasLeaves === false) throw new ExportNotProven(`${where} has another format than the lines before it`);
    this.requireUser(end, where);
    const checkpoint = readCheckpoint(end.checkpoint, where);
    if (end.proofs.length !== this.leaves.length)
      throw new ExportNotProven(
        `${where} has ${String(end.proofs.length)} proofs, and there are ${String(this.leaves.length)} items`,
      );
    for (const [at, { number, hash }] of this.leaves.entries())
      requireInTree(hash, number, end.proofs[at] ?? [], checkpoint, `line ${String(at + 1)}`);
    const completeness = this.completeness(end, checkpoint, where);
    const later = this.leaves.slice(completeness?.items ?? 0);
    return {
      ...{ origin: checkpoint.origin, size: checkpoint.size, root: checkpoint.root.toString('base64') },
      ...signersOf(end.checkpoint, checkpoint, where, anchors),
      agreesWith: await agreeing(checkpoint, anchors),
      unattributed: later.filter(({ stream, hasData }) => !hasData && stream !== userStream(end.sub)).length,
      completeness,
    };
  }

  /** Other lines than these of the user would be in the log too, and prove something about somebody else. */
  private requireUser({ sub }: ExportEnd, where: string): void {
    const other = this.leaves.findIndex(
      ({ stream }) => stream.startsWith(userStream('')) && stream !== userStream(sub),
    );
    if (other !== -1) throw new ExportNotProven(`line ${String(other + 1)} is not of the user that ${where} names`);
    if ([...this.userIds].some((id) => id !== sub))
      throw new ExportNotProven(`a line has data of another user than ${where} names`);
  }

  private completeness(
    { sub, position, completeness }: ExportEnd,
    checkpoint: Checkpoint,
    where: string,
  ): InLog['completeness'] {
    if (!completeness) return null;
    const { items, hash, index, proof, seal, sealProof } = completeness;
    const of = `the seal in ${where}`;
    const { data } = safeParse(logEvents.HistoriesSealed.data, seal.data);
    const isSeal = seal.type === 'HistoriesSealed' && seal.stream === LOG_STREAM;
    if (!isSeal || !data || digestOf('', data) !== seal.digest)
      throw new ExportNotProven(`${of} is none: it was changed`);
    if (seal.position > position) throw new ExportNotProven(`${of} is later than the export`);
    requireOwnHash(seal, of);
    requireSameAsMetadata(seal, of);
    requireInTree(leafOfLine(seal, of), seal.leaf, sealProof, checkpoint, of);
    if (this.hashes[items - 1] !== hash)
      throw new ExportNotProven(`items are missing or were changed: ${of} says that there were ${String(items)}`);
    const tree = { origin: of, size: data.users, root: Buffer.from(data.root, 'base64') };
    requireInTree(sealLeaf({ userId: sub, items, hash }).leaf, index, proof, tree, `${of}: the history`);
    return { items, sealedAt: seal.time, eventsSince: checkpoint.size - seal.leaf - 1 };
  }
}

const leafOfLine = (line: ExportedItem, where: string): Hash => {
  try {
    return leafOfEntry(line);
  } catch (cause) {
    throw new ExportNotProven(`${where} has metadata that no event has`, { cause });
  }
};

/** The seal is a line that follows no other. */
const requireOwnHash = (line: ExportedItem, where: string): void => {
  const { salt, data, hash, ...hashed } = hashedMembers(line);
  const isOwn = sha256(canonicalText(hashed, where)) === hash;
  if (hashed.previous !== NO_HASH || salt !== '' || data === null || !isOwn)
    throw new ExportNotProven(`${where} was changed: its hash does not match`);
};

/** What a line says in members of its own must be what the log has in the metadata. */
const requireSameAsMetadata = (line: ExportedItem, where: string): void => {
  const { actor, app = null, session = null, correlationId, digest = line.digest } = line.metadata;
  const { type, id } = line.actor;
  const own = {
    actor: { type, id },
    app: line.app,
    session: line.session,
    requestId: line.requestId,
    digest: line.digest,
  };
  if (!isDeepStrictEqual(own, { actor, app, session, requestId: correlationId, digest }))
    throw new ExportNotProven(`${where} says something else than its metadata`);
};

const requireInTree = (
  leaf: Hash,
  index: number,
  proof: readonly string[],
  { size, root }: Checkpoint,
  where: string,
): void => {
  const hashes = proof.map((hash) => Buffer.from(hash, 'base64'));
  if (!rootByInclusion(leaf, { index, size }, hashes)?.equals(root))
    throw new ExportNotProven(`${where} is not proven to be in the tree: it was changed, or its proof was`);
};

const readCheckpoint = (note: string, where: string): Checkpoint => {
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch (cause) {
    if (!(cause instanceof NotANote)) throw cause;
    throw new ExportNotProven(`the checkpoint in ${where} is none: ${cause.message}`, { cause });
  }
};

const signersOf = (
  note: string,
  { origin }: Checkpoint,
  where: string,
  { logKey, witnesses = [], kept = [] }: LogAnchors,
): Pick<InLog, 'signedBy' | 'cosignedBy'> => {
  const own = `the checkpoint in ${where}`;
  if (logKey && logKey.name !== origin)
    throw new ExportNotProven(`${own} is of the log ${origin}, not of ${logKey.name}`);
  if (logKey && !opened(note, logKey, own)) throw new ExportNotProven(`${own} is not signed by ${logKey.name}`);
  const checkpoints = [{ of: null, note }, ...kept];
  const cosignedBy = witnesses.map((key) => {
    for (const { of, note: text } of checkpoints) {
      const found = text === undefined ? undefined : opened(text, key, of ?? own);
      if (found) return { name: key.name, of, time: found.time };
    }
    throw new ExportNotProven(
      `${own} is not cosigned by ${key.name}, nor is one that was kept: give the state file of that witness as one`,
    );
  });
  return { signedBy: logKey?.name ?? null, cosignedBy };
};

/** @returns `undefined` if that key has not signed it */
const opened = (note: string, key: NoteKey, what: string): ReturnType<typeof openNote> => {
  try {
    return openNote(note, key);
  } catch (cause) {
    if (!(cause instanceof NotANote)) throw cause;
    throw new ExportNotProven(`${what} was changed: ${cause.message}`, { cause });
  }
};

/** @returns which of the kept checkpoints agree: all of them */
const agreeing = async (checkpoint: Checkpoint, { kept = [], tiles }: LogAnchors): Promise<InLog['agreesWith']> => {
  for (const one of kept) {
    if (one.size === 0) throw new ExportNotProven(`${one.of} has no leaves: it is a checkpoint of every log`);
    if (one.origin !== checkpoint.origin)
      throw new ExportNotProven(
        `${one.of} is a checkpoint of ${one.origin}, and the export has one of ${checkpoint.origin}`,
      );
    if (one.size !== checkpoint.size && !tiles)
      throw new ExportNotProven(
        `${one.of} has ${String(one.size)} leaves, and the export's checkpoint ${String(checkpoint.size)}: the tiles between are needed`,
      );
    const none: TileReader = () => Promise.resolve([]);
    if (!(await isContinued(one, checkpoint, tiles ?? none)))
      throw new ExportNotProven(`the log has two histories: ${one.of} and the export's checkpoint are not of one tree`);
  }
  return kept.map(({ of, size }) => ({ of, size }));
};
