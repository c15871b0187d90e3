import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { LazyStoredEvent } from '../event-store/stored-event.ts';
import { anEvent } from '../testing/event-builder.ts';
import { SeededRandom } from '../testing/simulation/seeded-random.ts';
import { leafOf } from './leaf-entry.ts';
import { tilePath, TreeEdge, type Tile, type TileId } from './tiles.ts';
import { verifyLog, type Difference } from './verify-log.ts';

type Event = LazyStoredEvent;
/** `ATTACKS=1000 npm test -- verify-log` tries more. */
const ATTACKS = Number(process.env['ATTACKS'] ?? 20);
const SIZES = [1, 2, 255, 256, 257, 700];

const event = (position: number, stream = 'app-1'): Event => {
  const { id, type, time, data, metadata } = anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered });
  return new LazyStoredEvent(position, stream, position, id, type, 1, time, JSON.stringify(data), metadata);
};
const changed = ({ position, stream, revision, id, type, time, metadata }: Event): Event =>
  new LazyStoredEvent(position, stream, revision, id, type, 1, time + 1, '{"changed":true}', metadata);
const history = Array.from({ length: 700 }, (_, at) => event(at + 1));
/** An event that is no leaf, after each tenth. */
const withOthers = (events: readonly Event[]): Event[] =>
  events.flatMap((one, at) => (at % 10 === 9 ? [one, event(10_000 + at, 'challenge-1')] : [one]));

const keptOf = (events: readonly Event[], sizes: readonly number[] = SIZES) => {
  const edge = TreeEdge.empty();
  const tiles = new Map<string, Tile>();
  const checkpoints = sizes.map((size) => {
    const leaves = events.slice(edge.size, size).map(leafOf);
    for (const { tile, ...id } of edge.append(leaves)) tiles.set(tilePath(id), Buffer.from(tile));
    return { origin: 'log.example/log', size, root: edge.root() };
  });
  return { checkpoints, tile: (id: TileId) => Promise.resolve(tiles.get(tilePath(id)) ?? Buffer.alloc(0)) };
};
const kept = keptOf(history);
const withoutTiles = { ...kept, tile: () => Promise.resolve(Buffer.alloc(0)) };
// eslint-disable-next-line @typescript-eslint/require-await -- an event store's events come one after the other
async function* stored(events: readonly Event[]): AsyncGenerator<Event> {
  yield* events;
}
const sizesOf = (checkpoints: readonly { size: number }[]) => checkpoints.map(({ size }) => size);

type Attack = (at: number, random: SeededRandom) => { events: Event[]; event: Event | undefined };
const attacks: Record<Difference['what'], Attack> = {
  changed: (at) => ({ events: history.with(at, changed(history[at] ?? event(0))), event: history[at] }),
  removed: (at) => ({ events: history.toSpliced(at, 1), event: history[at + 1] }),
  added: (at) => {
    const forged = event(5_000);
    return { events: history.toSpliced(at, 0, forged), event: forged };
  },
  moved: (at, random) => {
    // Forwards or backwards; a move by one place could be either of two.
    const [from, to] = random.chance(0.5)
      ? [at, at + 2 + random.between(0, 200)]
      : [at + 2 + random.between(0, 200), at];
    const moved = history[Math.min(from, history.length - 1)];
    const others = history.filter((one) => one !== moved);
    return { events: others.toSpliced(to, 0, ...(moved ? [moved] : [])), event: moved };
  },
};

describe('the verification of the log', () => {
  it('finds nothing where nothing was done, whatever has been added since', async () => {
    for (const size of SIZES) {
      const before = keptOf(
        history.slice(0, size),
        SIZES.filter((one) => one <= size),
      );
      const { difference, fitting, failing, ...now } = await verifyLog(stored(withOthers(history)), before);
      expect([now.size, now.root, difference, failing]).toEqual([700, kept.checkpoints.at(-1)?.root, undefined, []]);
      expect(sizesOf(fitting)).toEqual(SIZES.filter((one) => one <= size));
    }
  });

  it.each(Object.keys(attacks) as Difference['what'][])(`finds what was %s, ${String(ATTACKS)} times`, async (what) => {
    const random = new SeededRandom(1);
    for (let attack = 0; attack < ATTACKS; attack += 1) {
      const at = random.between(0, history.length - 10);
      const { events, event: meant } = attacks[what](at, random);
      const { difference, fitting, failing } = await verifyLog(stored(withOthers(events)), kept);
      const { id, position } = meant ?? {};
      expect(difference).toMatchObject({ leaf: at, what, event: { id, position } });
      expect([sizesOf(fitting), sizesOf(failing)]).toEqual([
        SIZES.filter((size) => size <= at),
        SIZES.filter((size) => size > at),
      ]);
    }
  });

  it('finds events that were removed at the end', async () => {
    for (const left of [0, 1, 255, 256, 699]) {
      const { difference, size } = await verifyLog(stored(history.slice(0, left)), kept);
      expect([difference, size]).toEqual([{ what: 'removed', leaf: left, event: undefined }, left]);
    }
  });

  it('tells wrong tiles from changed events by the checkpoints that fit', async () => {
    const wrong = async (id: TileId) => {
      const tile = Buffer.from(await kept.tile(id));
      if (id.index === 0) tile[320] = (tile[320] ?? 0) ^ 1;
      return tile;
    };
    const { difference, fitting, failing } = await verifyLog(stored(history), { ...kept, tile: wrong });
    expect([difference?.leaf, sizesOf(fitting), failing]).toEqual([10, SIZES, []]);
  });

  it('says how many leaves were compared', async () => {
    expect((await verifyLog(stored(history), kept)).compared).toBe(700);
    expect((await verifyLog(stored(history), withoutTiles)).compared).toBe(0);
    expect((await verifyLog(stored([]), withoutTiles)).size).toBe(0);
  });

  it('says between which checkpoints it was, where the tiles were made anew', async () => {
    for (const what of Object.keys(attacks) as Difference['what'][]) {
      const { events } = attacks[what](300, new SeededRandom(2));
      const { difference, fitting, failing } = await verifyLog(stored(events), withoutTiles);
      expect([difference, sizesOf(fitting), sizesOf(failing)]).toEqual([undefined, [1, 2, 255, 256, 257], [700]]);
    }
  });
});
