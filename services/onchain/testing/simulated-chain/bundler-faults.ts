import { InjectedFaults } from '../../../../shared/testing/simulation/injected-faults.ts';

/** Faults around a bundler. */
const FAULTS = [
  'a process is killed',
  'the clock is set forward',
  'the clock is set back',
  'a read model is behind',
  'a reorganisation orphans a block with operations',
  'a transaction of an orphaned block is lost',
  'a pool forgets a transaction',
  'a pool forgets all transactions',
  'a block leaves out all pending transactions',
  'a node refuses a tip',
  'a block has a replaced transaction',
  'an executor runs dry',
  'somebody else uses a nonce of an executor',
  'a stranger bundles an operation',
  'a stranger deploys an account',
  'an owner empties an account',
  'the deposit is too low for another operation',
  'a node does not answer',
  'a node accepts a transaction and does not answer',
  'a node refuses a bundle',
  'a node does not try a bundle',
  'a node answers with an earlier head',
  'a node answers with earlier state',
  'a node does not have a block yet',
  'a node counts an operation that no block includes',
  'a node does not find a receipt',
  'a node answers with a receipt of an orphaned block',
] as const;
type BundlerFault = (typeof FAULTS)[number];

export class BundlerFaults extends InjectedFaults<BundlerFault> {
  constructor() {
    super(FAULTS);
  }
}
