import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkpointText } from '../transparency-log/checkpoint.ts';
import { HASH_BYTES, leafHash } from '../transparency-log/merkle-tree.ts';
import { NoteSigner, signedNote } from '../transparency-log/signed-note.ts';
import { parseTilePath, tilePath, TreeEdge, type Tile } from '../transparency-log/tiles.ts';

/** A transparency log over HTTP whose operator does as the spec says. */
export class ServedLog {
  readonly signer = new NoteSigner('log.example/log', Buffer.alloc(32, 5));
  private tiles = new Map<string, Tile>();
  private note = '';

  private constructor(
    readonly url: string,
    private readonly close: () => void,
  ) {}

  static async start(): Promise<ServedLog> {
    const server = createServer((request, response) => {
      const answer = served.answer((request.url ?? '').slice('/log/'.length));
      response.writeHead(answer === undefined ? 404 : 200).end(answer);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const served = new ServedLog(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}/log`, () => {
      server.closeAllConnections();
      server.close();
    });
    return served;
  }

  /** Makes a tree of these entries, and signs it, or the tree of the first of them as it was before. */
  hold(entries: readonly string[], signed = entries.length): void {
    const edge = TreeEdge.empty();
    const changed = edge.append(entries.map((entry) => leafHash(entry)));
    this.tiles = new Map(changed.map(({ tile, ...id }) => [tilePath(id), Buffer.from(tile)]));
    const before = TreeEdge.empty();
    before.append(entries.slice(0, signed).map((entry) => leafHash(entry)));
    this.sign(checkpointText({ origin: this.signer.key.name, size: before.size, root: before.root() }));
  }

  /** @param others lines of other signatures */
  sign(text: string, by = this.signer, others: readonly string[] = []): void {
    this.note = signedNote(text, [...others, by.sign(text)]);
  }

  get paths(): string[] {
    return [...this.tiles.keys()];
  }

  /** Changes a bit of each hash of a tile. */
  changeTile(path: string): void {
    const tile = this.tiles.get(path) ?? new Uint8Array();
    for (let at = 0; at < tile.length; at += HASH_BYTES) tile[at] = (tile[at] ?? 0) ^ 1;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private answer(path: string): string | Buffer | undefined {
    if (path === 'checkpoint') return this.note;
    const id = parseTilePath(path.replace('tile/', ''));
    const tile = id && this.tiles.get(tilePath(id));
    return tile && Buffer.from(tile.subarray(0, id.width * HASH_BYTES));
  }
}
