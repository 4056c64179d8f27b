"""What scripts/rtl_mutants.py finds in a module, and the copy that holds all of it: number 0 is the design, Verilator
takes the copy (if it is there), and a number selects one mutation."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import rtl_mutants  # noqa: E402

MODULE = """module tessera_sram_arbiter #(
  parameter int unsigned Ports = 3
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic [2:0] want_i,  // not a && b
  input  logic       clear_i,
  output logic [2:0] gnt_o
);
  typedef struct packed { logic [1:0] low; logic high; } pair_t;
  localparam int unsigned Width = Ports - 1;
  logic [2:0] count_q, count_d;
  pair_t pair_q;
  function automatic logic [2:0] more(input logic [2:0] a);
    if (a == 3'd5) return a;
    return a + 3'd1;
  endfunction
  always_comb begin
    gnt_o = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      if (want_i[i] && gnt_o == '0) gnt_o[i] = 1'b1;
    end
  end
  assign count_d = more(count_q) << Width'(1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      pair_q <= '0;
    end else if (clear_i) begin
      count_q <= 3'd6;
    end else begin
      count_q <= count_d;
      pair_q <= '{low: count_q[1:0], high: count_q != 3'd2};
    end
  end
endmodule
"""
PACKAGE = "package tessera_mutant_pkg;\n  int unsigned selected = $c32(\"0\");\nendpackage\n"
EXPECTED = [
    (15, "condition", "a == 3'd5", "a != 3'd5"),
    (15, "condition", "a == 3'd5", "!(a == 3'd5)"),
    (15, "condition", "a == 3'd5", "a == 3'd6"),
    (16, "operator", "a + 3'd1", "a - 3'd1"),
    (16, "constant", "a + 3'd1", "a + 3'd2"),
    (19, "arbitration order", "gnt_o = '0", "gnt_o = '1"),
    (20, "arbitration order", "for i from 0 to Ports - 1", "for i from Ports - 1 to 0"),
    (21, "condition", "want_i[i] && gnt_o == '0", "want_i[i] || gnt_o == '0"),
    (21, "arbitration order", "gnt_o[i] = 1'b1", "gnt_o[i] = 1'd0"),
    (24, "operator", "count_d = more(count_q) << Width'(1)", "count_d = more(count_q) >> Width'(1)"),
    (29, "condition", "clear_i", "!(clear_i)"),
    (29, "register stage", "clear_i", "1'b1"),
    (30, "constant", "count_q = 3'd6", "count_q = 3'd7"),
    (30, "register stage", "count_q = 3'd6", "count_q = count_q"),
    (32, "register stage", "count_q = count_d", "count_q = count_q"),
    (32, "register stage", "count_q = count_d", "count_q = $past(count_d)"),
    (33, "condition", "count_q != 3'd2", "count_q == 3'd2"),
]


def check(is_so, what):
    if not is_so:
        sys.exit(f"test_rtl_mutants: {what}")


def test_candidates(found):
    texts = [(m.line, m.kind, m.original, m.changed) for m in found]
    for one in EXPECTED:
        line, kind, original, changed = one
        check(one in texts or (line, "constant", original, changed) in texts, f"{one} is not among {texts}")
    check(all(line not in (2, 6, 10, 11, 12) for line, *_ in texts), "ports, types and parameters are left alone")
    check(all(line not in (26, 27, 28) for line, *_ in texts), "zeros of the reset branch are left alone")


def test_copy(found, folder):
    drawn = []
    for mutation in found:
        mutation.number = len(drawn) + 1
        if not any(rtl_mutants.overlap(mutation, other) for other in drawn):
            drawn.append(mutation)
    check(len(drawn) >= 15, f"{len(drawn)} mutations are in one copy")
    copy = rtl_mutants.mutated(folder / "tessera_sram_arbiter.sv", drawn)
    check(copy.count("\n") == MODULE.count("\n"), "lines stay where they are")
    numbers = {int(number) for number in re.findall(r"selected == 32'd(\d+)", copy)}
    check(numbers == {m.number for m in drawn}, f"the copy holds {numbers}")
    check("assign count_d = (tessera_mutant_pkg::selected == 32'd" in copy, "a mutation stands before the original")
    if shutil.which("verilator"):
        (folder / "copy.sv").write_text(PACKAGE + copy, encoding="utf-8")
        done = subprocess.run(["verilator", "--lint-only", "-Wno-fatal", "-Wno-lint", folder / "copy.sv"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        check(done.returncode == 0, f"Verilator refuses the copy: {done.stdout}\n{copy}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file = folder / "tessera_sram_arbiter.sv"
        file.write_text(MODULE, encoding="utf-8")
        found = rtl_mutants.candidates(file)
        test_candidates(found)
        test_copy(found, folder)
        check(rtl_mutants.mutated(file, []) == MODULE, "a copy without mutations is the source")


if __name__ == "__main__":
    main()
