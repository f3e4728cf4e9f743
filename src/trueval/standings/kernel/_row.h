/* One row of scores against its bounds. Included once for each format: REAL is its type, COUNT an integer as wide, so
 * that as many scores as counts fit in a vector, and NAMED gives its functions their names.
 *
 * Scores are looked at in blocks of SCORES, which compilers make a few vector instructions of. A score that is not a
 * number passes nothing. */

/* How many scores of a block are at least a bound. */
WITHIN COUNT NAMED(reaching)(const REAL *block, REAL bound) {
    COUNT count = 0;
    for (int i = 0; i < SCORES; i++) count += block[i] >= bound;
    return count;
}

/* How many scores of a chunk are. */
WITHIN COUNT NAMED(reaching_chunk)(const REAL *scores, REAL bound) {
    COUNT count = 0;
    for (int i = 0; i < CHUNK; i++) count += scores[i] >= bound;
    return count;
}

/* How many of a block are above it. */
WITHIN COUNT NAMED(beyond)(const REAL *block, REAL bound) {
    COUNT count = 0;
    for (int i = 0; i < SCORES; i++) count += block[i] > bound;
    return count;
}

/* How many of some ascending bounds a score is at or above: by halves, and by products instead of branches that no
 * processor foretells. */
WITHIN Py_ssize_t NAMED(passed)(const REAL *bounds, Py_ssize_t count, REAL score) {
    const REAL *at = bounds;
    for (; count > 1; count -= count / 2) at += (count / 2) * (score >= at[count / 2 - 1]);
    return at - bounds + (score >= *at);
}

/* How many it is above. */
WITHIN Py_ssize_t NAMED(exceeded)(const REAL *bounds, Py_ssize_t count, REAL score) {
    const REAL *at = bounds;
    for (; count > 1; count -= count / 2) at += (count / 2) * (score > at[count / 2 - 1]);
    return at - bounds + (score > *at);
}

/* Compare all scores of a chunk with few bounds; from the first that none reaches on, none reaches any. Where most blocks
 * reach some bound this takes three quarters of the time: counts of a whole chunk are summed once. */
WITHIN void NAMED(compare_chunk)(const REAL *scores, const Row *row) {
    const REAL *low = row->low, *high = row->high;
    for (Py_ssize_t bound = 0; bound < row->bounds; bound++) {
        COUNT reached = 0, above = 0;
        for (int i = 0; i < CHUNK; i++) {
            reached += scores[i] >= low[bound];
            above += scores[i] > high[bound];
        }
        if (reached == 0) return;
        row->at_least[bound] += reached;
        row->above[bound] += above;
    }
}

/* Compare all scores of a block with few bounds; from the first that none reaches on, none reaches any. */
WITHIN void NAMED(compare)(const REAL *block, const Row *row) {
    const REAL *low = row->low, *high = row->high;
    for (Py_ssize_t bound = 0; bound < row->bounds; bound++) {
        COUNT reached = NAMED(reaching)(block, low[bound]);
        if (reached == 0) return;
        row->at_least[bound] += reached;
        row->above[bound] += NAMED(beyond)(block, high[bound]);
    }
}

/* Find the last of many lower bounds that each score of a block is at or above, and the last upper one that it is above,
 * which is the same unless it ties; and count there. */
WITHIN void NAMED(search)(const REAL *block, const Row *row) {
    const REAL *low = row->low, *high = row->high;
    for (int i = 0; i < SCORES; i++) {
        if (!(block[i] >= low[0])) continue;
        Py_ssize_t passed = NAMED(passed)(low, row->bounds, block[i]);
        row->at_least[passed - 1]++;
        if (!(block[i] > high[passed - 1])) passed = NAMED(exceeded)(high, passed, block[i]);
        if (passed > 0) row->above[passed - 1]++;
    }
}

/* What passes a bound passes those below it. */
static void NAMED(add_up)(int64_t *counts, Py_ssize_t bounds) {
    for (Py_ssize_t bound = bounds - 1; bound > 0; bound--) counts[bound - 1] += counts[bound];
}

/* Count the scores of a row; the counts are 0 before, and there is at least one bound. */
CLONED static void NAMED(count_row)(const Row *row) {
    const REAL *scores = row->scores, *low = row->low;
    bool few = row->bounds <= FEW;
    Py_ssize_t column = 0;
    for (; few && column + CHUNK <= row->columns; column += CHUNK) {
        COUNT reached = NAMED(reaching_chunk)(scores + column, low[0]);
        if (reached > RARE)
            NAMED(compare_chunk)(scores + column, row);
        else if (reached > 0)
            for (int i = 0; i < CHUNK; i += SCORES) NAMED(compare)(scores + column + i, row);
    }
    for (; column + SCORES <= row->columns; column += SCORES) {
        if (NAMED(reaching)(scores + column, low[0]) == 0) continue;
        if (few)
            NAMED(compare)(scores + column, row);
        else
            NAMED(search)(scores + column, row);
    }
    if (column < row->columns) { /* the last block is filled up with what passes nothing */
        REAL rest[SCORES];
        for (int i = 0; i < SCORES; i++) rest[i] = column + i < row->columns ? scores[column + i] : (REAL)NAN;
        if (few)
            NAMED(compare)(rest, row);
        else
            NAMED(search)(rest, row);
    }
    if (!few) {
        NAMED(add_up)(row->at_least, row->bounds);
        NAMED(add_up)(row->above, row->bounds);
    }
}
