/** The users of a closed model as a function of time. */

export interface ShapeStep {
  readonly users: number;
  /** Users that are started or stopped per second. */
  readonly spawnRate: number;
}

export interface LoadShape {
  /** Asked every second. Null ends the run. */
  at(elapsedSeconds: number): ShapeStep | null;
}
