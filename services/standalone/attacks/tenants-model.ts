/**
 * The interface's rules about ownership, selection and visibility, written down a second time and independent of the
 * code under test: lists that are searched from the beginning, and nothing else.
 */

/** A caller: a user in an app, or, without a user, an app itself. */
export interface Tenant {
  app: string;
  user: string | null;
}

/** An event as a tenant describes it. */
export interface Fragment {
  name: string;
  /** The signature without names and `indexed`: fragments that share it match the same logs. */
  bare: string;
  /** The names of its arguments. */
  names: readonly string[];
  abi: object;
  signature: string;
}

export interface Log {
  block: number;
  bare: string;
  values: readonly string[];
}

/** A registration that a tenant made at some time and may have dropped. */
export interface ModelledWatch {
  contract: string;
  fragment: Fragment;
  id: string;
  startBlock: number;
  isPaused: boolean;
  /** Since when it has always had a claim. */
  since: number;
  claims: { by: Tenant; since: number; startBlock: number }[];
}

interface ModelledSubscription {
  id: string;
  by: Tenant;
  watch: ModelledWatch;
}

const isSame = (one: Tenant, other: Tenant) => one.app === other.app && one.user === other.user;
const MOST = { ofUser: 5, ofApp: 6 };
export const QUOTAS = { userWatches: MOST.ofUser, appWatches: MOST.ofApp };
export const FINAL = 30;

export class TenantsModel {
  readonly watches: ModelledWatch[] = [];
  subscriptions: ModelledSubscription[] = [];
  private readonly records: { log: Log; watch: ModelledWatch }[] = [];
  private time = 0;

  /** @param logs of every contract; later logs are added to the list */
  constructor(private readonly logs: readonly Log[]) {}

  find(contract: string, fragment: Fragment): ModelledWatch | undefined {
    return this.watches.find((watch) => watch.contract === contract && watch.fragment === fragment);
  }

  byId(id: string): ModelledWatch | undefined {
    return this.watches.find((watch) => watch.id === id && watch.claims.length > 0);
  }

  claims(watch: ModelledWatch, by: Tenant): boolean {
    return watch.claims.some((claim) => isSame(claim.by, by));
  }

  /** Returns the status of a registration. */
  statusOfRegistration(by: Tenant, contract: string, fragment: Fragment): number {
    const watch = this.find(contract, fragment);
    const all = this.watches.flatMap((one) => one.claims);
    if (watch && this.claims(watch, by)) return 200;
    const ofUser = all.filter((claim) => by.user !== null && claim.by.user === by.user).length;
    const kin = all.filter(
      (claim) => claim.by.app === by.app && (claim.by.user === null) === (by.user === null),
    ).length;
    if (ofUser >= MOST.ofUser || kin >= MOST.ofApp) return 403;
    return watch ? 200 : 201;
  }

  register(by: Tenant, contract: string, fragment: Fragment, startBlock: number, id: string): void {
    this.time += 1;
    let watch = this.find(contract, fragment);
    if (!watch) {
      watch = { contract, fragment, id, startBlock, isPaused: false, since: this.time, claims: [] };
      this.watches.push(watch);
    }
    if (watch.claims.length === 0) watch.since = this.time;
    const own = watch.claims.find((claim) => isSame(claim.by, by));
    if (own) own.startBlock = startBlock;
    else {
      watch.claims.push({ by, since: this.time, startBlock });
      watch.isPaused = false;
    }
    this.move(watch);
  }

  /** A watch begins at the earliest block that any of its claimants wants. */
  private move(watch: ModelledWatch): void {
    if (watch.claims.length > 0) watch.startBlock = Math.min(...watch.claims.map(({ startBlock }) => startBlock));
  }

  /** Returns the status of a removal. */
  remove(by: Tenant, id: string): number {
    const watch = this.byId(id);
    if (!watch || !this.claims(watch, by)) return 404;
    watch.claims = watch.claims.filter((claim) => !isSame(claim.by, by));
    this.move(watch);
    return 204;
  }

  /** Returns the status of pausing or resuming an existing watch. */
  change(by: Tenant, id: string, isPaused: boolean): number {
    const status = this.statusOfPower(by, id);
    const watch = this.byId(id);
    if (status === 200 && watch) watch.isPaused = isPaused;
    return status;
  }

  statusOfPower(by: Tenant, id: string): number {
    const watch = this.byId(id);
    if (!watch) return 404;
    const isOwn = (claim: { by: Tenant }) => isSame(claim.by, by) || (by.user === null && claim.by.app === by.app);
    return watch.claims.every(isOwn) ? 200 : 403;
  }

  ofContract(contract: string): ModelledWatch[] {
    return this.watches.filter((watch) => watch.contract === contract && watch.claims.length > 0);
  }

  /** Returns the watches that an event's name or bare signature means, one for each signature. */
  meant(by: Tenant | undefined, contract: string, name: string): ModelledWatch[] {
    const named = this.ofContract(contract).filter(({ fragment }) => [fragment.name, fragment.bare].includes(name));
    const own = by ? named.filter((watch) => this.claims(watch, by)) : [];
    const ofApp = by ? named.filter((watch) => this.claims(watch, { ...by, user: null })) : [];
    const nearest = own.length > 0 ? own : ofApp.length > 0 ? ofApp : named;
    return this.oldestOfEach(nearest, by);
  }

  /** Returns the watch that each signature means. */
  meantByAll(by: Tenant, contract: string): ModelledWatch[] {
    const bares = [...new Set(this.ofContract(contract).map(({ fragment }) => fragment.bare))];
    return bares.flatMap((bare) => this.meant(by, contract, bare));
  }

  /** Returns the records to store now, because their watches are claimed and not paused. */
  follow(): { log: Log; watch: ModelledWatch }[] {
    const read = this.watches.filter((watch) => watch.claims.length > 0 && !watch.isPaused);
    const found = read.flatMap((watch) =>
      this.logs
        .filter(({ block, bare }) => bare === watch.fragment.bare && block >= watch.startBlock)
        .filter((log) => !this.records.some((record) => record.watch === watch && record.log === log))
        .map((log) => ({ log, watch })),
    );
    this.records.push(...found);
    return found;
  }

  isSubscribed(by: Tenant, watch: ModelledWatch | undefined): boolean {
    return this.subscriptions.some((one) => isSame(one.by, by) && one.watch === watch);
  }

  /** Removes and returns the subscriptions whose watches have no claim any more. */
  stopped(): ModelledSubscription[] {
    const { subscriptions } = this;
    this.subscriptions = subscriptions.filter(({ watch }) => watch.claims.length > 0);
    return subscriptions.filter(({ watch }) => watch.claims.length === 0);
  }

  /** Returns blocks and watches of the records, in the order of the chain. */
  recordsOf(watches: readonly ModelledWatch[], argument?: { name: string; value: string }): string[] {
    return this.records
      .filter(({ watch }) => watches.includes(watch))
      .filter(
        ({ watch, log }) => !argument || log.values[watch.fragment.names.indexOf(argument.name)] === argument.value,
      )
      .toSorted((one, other) => one.log.block - other.log.block)
      .map(({ log, watch }) => `${String(log.block)} ${watch.id}`);
  }

  private oldestOfEach(watches: readonly ModelledWatch[], by: Tenant | undefined): ModelledWatch[] {
    const age = (watch: ModelledWatch) => {
      const own = watch.claims.find((claim) => by && isSame(claim.by, by));
      const ofApp = watch.claims.find((claim) => by && isSame(claim.by, { ...by, user: null }));
      return own?.since ?? ofApp?.since ?? watch.since;
    };
    const sorted = [...watches].sort((one, other) => age(one) - age(other));
    return sorted.filter(
      (watch, at) => sorted.findIndex(({ fragment }) => fragment.bare === watch.fragment.bare) === at,
    );
  }
}
