# Qt's headers take the compiler two to four seconds in every source: they are compiled once for the widgets of the
# workbench, once for the tests of the core and once for the tests with widgets.
# A precompiled header fits only sources compiled with the same options and, as far as it uses them, the same macros: so
# each one comes from a target of the kind that uses it, linked with the same Qt modules.
function(stepscope_precompiled name kind libraries headers)
    set(source "${CMAKE_BINARY_DIR}/precompiled/${name}.cpp")
    if(kind STREQUAL "program")
        file(GENERATE OUTPUT "${source}" CONTENT "int main() { }\n")
        add_executable(${name} "${source}")
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/precompiled")
    else()
        file(GENERATE OUTPUT "${source}" CONTENT "extern const int kUnused = 0;\n")
        add_library(${name} STATIC "${source}")
    endif()
    target_link_libraries(${name} PRIVATE stepscope_compiler ${libraries})
    target_precompile_headers(${name} PRIVATE ${headers})
endfunction()

if(STEPSCOPE_GUI)
    stepscope_precompiled(stepscope_ui_pch library Qt6::Widgets
        "<QApplication>;<QLabel>;<QMainWindow>;<QMouseEvent>;<QPainter>;<QStyledItemDelegate>;<QTableView>;<QToolButton>;<QVBoxLayout>")
endif()
if(STEPSCOPE_TESTS)
    # Qt names the folders of each test on its command line, for QFINDTESTDATA, which no test uses.
    get_target_property(definitions Qt6::Test INTERFACE_COMPILE_DEFINITIONS)
    list(FILTER definitions EXCLUDE REGEX "QT_TESTCASE_(BUILD|SOURCE)DIR")
    set_target_properties(Qt6::Test PROPERTIES INTERFACE_COMPILE_DEFINITIONS "${definitions}")
    stepscope_precompiled(stepscope_test_pch program Qt6::Test "<QtTest>")
    if(STEPSCOPE_GUI)
        stepscope_precompiled(stepscope_ui_test_pch program "Qt6::Test;Qt6::Widgets" "<QtTest>;<QtWidgets>")
    endif()
endif()
